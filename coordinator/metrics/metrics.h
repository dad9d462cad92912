// Prometheus metrics of the coordinator. Jobs, campaigns and nodes are not used as labels, because
// every new label value creates another time series.
#pragma once

#include <prometheus/collectable.h>

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "coordinator/core/environment.h"

namespace assay::coordinator {

// Number of database connections by use.
struct PoolUse {
  int in_use = 0;
  int idle = 0;
  int waiting = 0;
};

// Thread-safe.
class Metrics : public Observer {
 public:
  Metrics();
  ~Metrics() override;

  void JobEnded(const std::string& benchmark, const std::string& outcome,
                Duration running) override;
  void JobOverhead(Duration start_delay, Duration outside_runner) override;
  void ResultsIngested(const std::string& outcome, int count) override;

  void QueryEnded(const char* name, Duration took);
  void CallEnded(const char* method, Code code);

  // Set the gauges of state that the process reads at intervals.
  void SetQueue(const storage::JobStore::QueueStats& stats);
  void SetNodes(const storage::NodeStore::NodeCounts& counts);
  void SetPool(const PoolUse& use);

  // Returns the registry that the HTTP server exposes.
  std::shared_ptr<prometheus::Collectable> collectable() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

// Returns the agents that serve metrics as JSON for Prometheus' HTTP service discovery.
std::string ServiceDiscovery(const std::vector<v1::Node>& nodes);

}  // namespace assay::coordinator
