// The agent's Prometheus metrics: its session, its spool, and its GPUs at the time of the scrape.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/core/session.h"
#include "agent/core/spool.h"
#include "assay/v1/inventory.pb.h"
#include "host/nvml.h"

namespace assay::agent {

struct AgentMetricsSources {
  v1::NodeDescription node;
  std::function<SessionStats()> session;
  std::shared_ptr<const Spool> spool;
  std::shared_ptr<const Nvml> nvml;  // Null without GPUs.
};

// A collector of the agent's metrics. Exports up to 38 time series per GPU and 5 for the agent.
// Thread-safe.
class AgentMetrics : public prometheus::Collectable {
 public:
  explicit AgentMetrics(AgentMetricsSources sources);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const AgentMetricsSources sources_;
};

}  // namespace assay::agent
