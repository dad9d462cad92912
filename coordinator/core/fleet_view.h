// Provides the state of the whole fleet to viewers, such as browsers. All viewers share one
// snapshot, so the load on the database hardly depends on their number.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assay/v1/node_service.pb.h"
#include "common/mutex.h"
#include "common/status.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// Builds snapshots of the fleet. Thread-safe.
class FleetView {
 public:
  // The parts of the coordinator that the view needs. The functions block on the database.
  struct Sources {
    // Returns the outliers of simulated or of real nodes.
    std::function<Result<v1::ListOutliersResponse>(bool simulated)> outliers;
    // Returns the jobs of a campaign that wait for absent nodes.
    std::function<Result<std::vector<v1::WaitingJobs>>(const std::string& campaign_id)> waiting;
  };

  // One node of the fleet, as it is shown.
  struct Row {
    v1::FleetNode node;
    // Description and state of the node, without benchmarks. Filters are applied to these fields.
    v1::Node facts;
    // The number of the snapshot in which this row last changed. Small changes, such as a new
    // heartbeat or a one-degree change in temperature, are ignored.
    int64_t changed = 0;
    // The node in that snapshot.
    std::shared_ptr<const v1::FleetNode> reference;
  };
  using Rows = std::vector<std::shared_ptr<const Row>>;

  struct Snapshot {
    int64_t number = 0;  // From 1.
    MonotonicTime time{};
    Rows rows;  // Sorted by name.
    v1::FleetSummary summary;
  };

  // `environment`, `options` and `sessions` must outlive this object.
  FleetView(const Environment& environment, const Options& options, const Sessions& sessions,
            Sources sources);

  // Returns the latest snapshot. If it is older than Options::fleet_period, first reads a new one,
  // which blocks on the database. As long as there are no viewers to call this, nothing is read.
  Result<std::shared_ptr<const Snapshot>> Latest();

  // Returns the rows of `snapshot` whose nodes match `filter`. Blocks on the database if the
  // filter mentions benchmarks.
  Result<Rows> Matching(const Snapshot& snapshot, const std::string& filter);

 private:
  // Findings by GPU and by node.
  struct Findings {
    std::map<std::string, v1::OutlierCase> outliers;  // The worst, by the UUID of the GPU.
    std::map<std::string, int> gpu_regressions;       // By UUID.
    std::map<std::string, int> node_regressions;      // By name.
  };

  Result<std::shared_ptr<const Snapshot>> Read(const Snapshot* previous);
  Result<Findings> ReadFindings(const std::vector<v1::Node>& nodes);
  Status AddIncidents(v1::FleetSummary& summary);
  Status AddCampaigns(v1::FleetSummary& summary);
  v1::FleetNode NodeOf(const v1::Node& node, const Findings& findings) const;

  const Environment& environment_;
  const Options& options_;
  const Sessions& sessions_;
  const Sources sources_;
  Mutex mutex_;
  CondVar changed_;
  bool reading_ ASSAY_GUARDED_BY(mutex_) = false;  // One viewer reads for all.
  std::shared_ptr<const Snapshot> latest_ ASSAY_GUARDED_BY(mutex_);
};

// Tracks the state of the fleet as last seen by one viewer, and computes what has changed since
// then. Not thread-safe.
class FleetChanges {
 public:
  // The rows added or changed since the previous call to Since(), and the ids of nodes that matched
  // the viewer's filter then but do not match it now.
  struct Changes {
    FleetView::Rows rows;
    std::vector<std::string> removed;
    bool summary_changed = false;
  };
  // Returns the changes since the previous call. `matching` holds the rows of `snapshot` that the
  // viewer wants to see.
  Changes Since(const FleetView::Snapshot& snapshot, const FleetView::Rows& matching);

 private:
  int64_t seen_number_ = 0;
  std::vector<std::string> seen_ids_;  // Sorted.
  v1::FleetSummary seen_summary_;
};

}  // namespace assay::coordinator
