// Prometheus metrics of the coordinator. Jobs, campaigns and nodes are not used as labels, because
// every new label value creates another time series. Values for simulated nodes have the label
// simulated="true", so that alerts can ignore them.
#pragma once

#include <prometheus/collectable.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/fleet_view.h"

namespace assay::coordinator {

// Number of database connections by use.
struct PoolUse {
  int in_use = 0;
  int idle = 0;
  int waiting = 0;
};

// The metrics of the coordinator, in a registry for Prometheus. Thread-safe.
class Metrics : public Observer {
 public:
  Metrics();
  ~Metrics() override;

  void JobStarted(const std::string& benchmark) override;
  void JobEnded(const std::string& benchmark, const std::string& outcome,
                Duration running) override;
  void JobOverhead(Duration start_delay, Duration outside_runner) override;
  void ResultsIngested(const std::string& outcome, int count) override;
  void ScheduleRan(const std::string& outcome) override;

  void QueryEnded(const char* name, Duration took);
  void CallEnded(const char* method, Code code);

  // The next functions set the gauges whose values the process reads at intervals.
  void SetQueue(const storage::JobStore::QueueStats& stats);
  void SetNodes(const storage::NodeStore::NodeCounts& counts);
  void SetFindings(const storage::FindingCounts& counts);
  // Sets whether gRPC calls and the database are answered.
  void SetReady(bool ready);

  // Sets the function that returns the usage of database connections. It is called at every scrape,
  // so that its values are current even while calls wait for a connection. Call this before the
  // first scrape.
  void set_pool(std::function<PoolUse()> pool);

  // Returns the registry that the HTTP server exposes.
  std::shared_ptr<prometheus::Collectable> collectable() const;

 private:
  class Impl;
  const std::shared_ptr<Impl> impl_;
};

// Returns the agents whose metrics can be scraped, as JSON for Prometheus' HTTP service discovery.
// Lost agents remain in the list for kLostNodeAge, so that alerts on `up == 0` can fire.
std::string ServiceDiscovery(const FleetView::Rows& nodes, WallTime now);

}  // namespace assay::coordinator
