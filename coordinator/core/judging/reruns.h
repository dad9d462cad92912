// Confirms regressions by running their cases again.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/analysis.pb.h"
#include "common/status.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/judging/histories.h"
#include "coordinator/core/judging/incident_records.h"

namespace assay::coordinator {

// The newest runs of a place that are judged.
inline constexpr size_t kRunsPerPlace = 60;

// Reruns the largest regression of each incident that is not confirmed: three to nine times at its
// place, Options::rerun_spacing apart, and, if these confirm it, as often at a peer. A new driver
// at three places or more needs no reruns: its places are compared with themselves before. Each
// rerun is a campaign of one job with one case. Reruns take at most Options::rerun_share of all
// runs, and one per hour in addition, so that small fleets have some. Not thread-safe.
//
//   DETECTED --reruns as slow--> CONFIRMED, all regressions of the incident, with a scope
//           \--reruns as fast as before--> CLEARED, this regression alone
class Reruns {
 public:
  // `kick` is called when jobs were queued. All arguments must outlive this object.
  Reruns(const Environment& environment, const Options& options, std::function<void()> kick);

  // Takes results of reruns, decides, and begins further reruns. `new_runs` is the number of runs
  // since the last call, which pay for reruns. Changes `open`.
  Status Continue(const std::vector<IncidentMembers>& incidents, size_t new_runs,
                  std::vector<v1::Regression>& open);

 private:
  // The evidence about a regression's place and its peer.
  struct Known;

  Status ContinueOne(const IncidentMembers& incident, size_t index, bool has_new_runs,
                     std::vector<v1::Regression>& open);
  // Confirms the regression at `index` and all steps of its incident.
  void Confirm(const IncidentMembers& incident, size_t index, v1::RegressionScope scope,
               std::vector<v1::Regression>& open) const;
  // Returns true if no rerun is under way.
  Result<bool> TakeRerun(v1::Regression& one);
  Result<Known> Read(const v1::Regression& one, const std::vector<v1::Regression>& open);
  // Returns whether a case regressed between the drivers of an incident, by a comparison over its
  // places.
  Result<bool> DriverRegressed(const IncidentMembers& incident, const v1::Regression& one) const;
  // Starts a rerun of the run with this result.
  Status Begin(const std::string& result_id, bool peer, v1::Regression& one);

  const Environment& environment_;
  const Options& options_;
  const std::function<void()> kick_;
  // Reruns that may begin, and the time of the last call.
  double credit_;
  MonotonicTime credited_at_;
};

}  // namespace assay::coordinator
