// Exports metrics of all nodes and their GPUs to Prometheus. The values come from the agents'
// heartbeats, so they cover even nodes that Prometheus cannot reach. The metrics are served on a
// separate path, because there are about 25 time series per GPU.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/core/fleet_view.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// Time for which a lost node stays in /sd and /metrics/gpus, so that alerts can name it.
inline constexpr Duration kLostNodeAge = std::chrono::hours(1);

struct FleetMetricsSources {
  std::vector<SessionState> sessions;
  // The facts known only to the database: jobs, cordons, quarantines, prices and lost nodes. Null
  // if unavailable.
  std::shared_ptr<const FleetView::Snapshot> snapshot;
  WallTime now{};
  // A node counts as lost if its last heartbeat is older than this.
  Duration silence{};
};

// The content type of Prometheus' text format.
inline constexpr char kTextFormat[] = "text/plain; version=0.0.4; charset=utf-8";

// Returns a function that yields the metrics in Prometheus' text format. Each call returns one
// family (a metric with all its samples), and the last call returns "". The text is split up
// because, with thousands of nodes, even a single family takes megabytes.
std::function<std::string()> FleetMetrics(FleetMetricsSources sources);

}  // namespace assay::coordinator
