// Exports the telemetry that agents send with their heartbeats, so that Prometheus also sees nodes
// that it cannot reach. Served on a path of its own, because there are about ten series per GPU.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// Returns the families of the GPUs' metrics. A family without samples is left out.
std::vector<prometheus::MetricFamily> GpuMetrics(const std::vector<NodeTelemetry>& nodes);

// The content type of Prometheus' text format.
inline constexpr char kTextFormat[] = "text/plain; version=0.0.4; charset=utf-8";

// Returns the same in Prometheus' text format. Builds one family at a time, which matters with
// thousands of nodes.
std::string GpuMetricsText(const std::vector<NodeTelemetry>& nodes);

}  // namespace assay::coordinator
