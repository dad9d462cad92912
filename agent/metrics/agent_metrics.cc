#include "agent/metrics/agent_metrics.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/core/telemetry.h"
#include "wire/gpu_values.h"

namespace assay::agent {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

using Labels = std::vector<ClientMetric::Label>;

class Family {
 public:
  Family(std::string name, const char* help, MetricType type) {
    family_.name = std::move(name);
    family_.help = help;
    family_.type = type;
  }

  // Export no sample for an absent value, because zero would look like a measured value.
  void Add(std::optional<double> value, Labels labels = {}) {
    if (!value) return;
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = std::move(labels);
    if (family_.type == MetricType::Counter) {
      metric.counter.value = *value;
    } else {
      metric.gauge.value = *value;
    }
  }

  void MoveTo(std::vector<MetricFamily>* families) && {
    if (!family_.metric.empty()) families->push_back(std::move(family_));
  }

 private:
  MetricFamily family_;
};

void CollectGpus(const v1::NodeInventory& inventory, const Nvml& nvml,
                 std::vector<MetricFamily>* families) {
  std::vector<int> indices;
  Family info("assay_gpu_info", "What the GPU is; always 1.", MetricType::Gauge);
  for (const v1::GpuInventory& gpu : inventory.gpus()) {
    indices.push_back(gpu.index());
    info.Add(1.0, {{"gpu", std::to_string(gpu.index())},
                   {"uuid", gpu.uuid()},
                   {"model", gpu.model()},
                   {"driver", inventory.driver_version()}});
  }
  std::move(info).MoveTo(families);
  const Telemetry telemetry = ReadTelemetry(nvml, indices);
  for (const schema::GpuValue& value : schema::GpuValues()) {
    Family family(std::string("assay_gpu_") + value.name, value.help,
                  value.is_counter ? MetricType::Counter : MetricType::Gauge);
    for (size_t i = 0; i < telemetry.size(); ++i) {
      const v1::GpuInventory& gpu = inventory.gpus(static_cast<int>(i));
      const auto add = [&](std::string_view label_value, double number) {
        Labels labels = {{"gpu", std::to_string(gpu.index())}};
        if (value.label != nullptr) labels.push_back({value.label, std::string(label_value)});
        family.Add(number, std::move(labels));
      };
      value.read({&gpu, &telemetry[i], schema::ExpectedNvlinks(inventory, gpu)}, add);
    }
    std::move(family).MoveTo(families);
  }
}

}  // namespace

AgentMetrics::AgentMetrics(AgentMetricsSources sources) : sources_(std::move(sources)) {}

std::vector<MetricFamily> AgentMetrics::Collect() const {
  std::vector<MetricFamily> families;
  const SessionStats session = sources_.session();
  const auto add = [&](const char* name, const char* help, std::optional<double> value,
                       Labels labels = {}) {
    Family family(name, help, MetricType::Gauge);
    family.Add(value, std::move(labels));
    std::move(family).MoveTo(&families);
  };
  add("assay_build_info", "The program that answers; always 1.", 1.0,
      {{"program", "assay-agent"}, {"version", sources_.node.agent_version()}});
  std::optional<double> heartbeat;
  if (session.last_heartbeat) {
    heartbeat = std::chrono::duration<double>(session.last_heartbeat->time_since_epoch()).count();
  }
  add("assay_agent_last_heartbeat_timestamp_seconds",
      "When the agent last told a coordinator its state.", heartbeat);
  add("assay_agent_connected", "1 while in session with a coordinator.",
      session.connected ? 1.0 : 0.0);
  add("assay_agent_running_jobs", "Jobs whose runners run now.", session.running_jobs);
  add("assay_agent_spool_depth", "Results on disk that no coordinator has acknowledged.",
      static_cast<double>(sources_.spool->depth()));
  if (sources_.nvml != nullptr) {
    CollectGpus(sources_.node.inventory(), *sources_.nvml, &families);
  }
  return families;
}

}  // namespace assay::agent
