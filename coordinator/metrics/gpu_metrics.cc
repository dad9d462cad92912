#include "coordinator/metrics/gpu_metrics.h"

#include <prometheus/text_serializer.h>

#include <array>
#include <sstream>
#include <utility>

namespace assay::coordinator {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Adds the samples of one GPU to its family.
class Samples {
 public:
  Samples(MetricFamily& family, std::vector<ClientMetric::Label> labels)
      : family_(family), labels_(std::move(labels)) {}

  void Add(double value) { AddWith({}, value); }
  // `label` is added to those of the GPU.
  void Add(const char* name, const std::string& value_of_label, double value) {
    AddWith({{name, value_of_label}}, value);
  }

 private:
  void AddWith(const std::vector<ClientMetric::Label>& more, double value) {
    ClientMetric& metric = family_.metric.emplace_back();
    metric.label = labels_;
    metric.label.insert(metric.label.end(), more.begin(), more.end());
    if (family_.type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
  }

  MetricFamily& family_;
  const std::vector<ClientMetric::Label> labels_;
};

struct Definition {
  const char* name;
  const char* help;
  MetricType type;
  // Adds nothing for a value that the GPU does not report.
  void (*add)(const v1::GpuTelemetry& gpu, Samples& samples);
};

constexpr std::array<Definition, 9> kDefinitions = {{
    {"assay_fleet_gpu_ecc_errors_total", "ECC errors since the driver was loaded, by kind.",
     MetricType::Counter,
     [](const v1::GpuTelemetry& gpu, Samples& samples) {
       if (gpu.has_ecc_corrected()) {
         samples.Add("kind", "corrected", static_cast<double>(gpu.ecc_corrected()));
       }
       if (gpu.has_ecc_uncorrected()) {
         samples.Add("kind", "uncorrected", static_cast<double>(gpu.ecc_uncorrected()));
       }
     }},
    {"assay_fleet_gpu_last_xid",
     "Number of the newest Xid, an error that the driver logged, since the agent started.",
     MetricType::Gauge,
     [](const v1::GpuTelemetry& gpu, Samples& samples) {
       if (gpu.has_last_xid()) samples.Add(gpu.last_xid());
     }},
    {"assay_fleet_gpu_memory_used_bytes", "Memory of the GPU that is in use.", MetricType::Gauge,
     [](const v1::GpuTelemetry& gpu, Samples& samples) {
       if (gpu.has_memory_used_bytes()) samples.Add(static_cast<double>(gpu.memory_used_bytes()));
     }},
    {"assay_fleet_gpu_power_limit_watts", "Power that the GPU may draw.", MetricType::Gauge,
     [](const v1::GpuTelemetry& gpu, Samples& samples) {
       if (gpu.has_power_limit_watts()) samples.Add(gpu.power_limit_watts());
     }},
    {"assay_fleet_gpu_power_watts", "Power drawn at the last heartbeat.", MetricType::Gauge,
     [](const v1::GpuTelemetry& gpu, Samples& samples) {
       if (gpu.has_power_watts()) samples.Add(gpu.power_watts());
     }},
    {"assay_fleet_gpu_sm_clock_hertz", "Clock of the multiprocessors at the last heartbeat.",
     MetricType::Gauge,
     [](const v1::GpuTelemetry& gpu, Samples& samples) {
       if (gpu.has_sm_clock_mhz()) samples.Add(gpu.sm_clock_mhz() * 1e6);
     }},
    {"assay_fleet_gpu_temperature_celsius", "Temperature of the GPU's core.", MetricType::Gauge,
     [](const v1::GpuTelemetry& gpu, Samples& samples) {
       if (gpu.has_temperature_celsius()) samples.Add(gpu.temperature_celsius());
     }},
    {"assay_fleet_gpu_throttle_seconds_total",
     "Time that clocks were held down since the driver was loaded, by reason.", MetricType::Counter,
     [](const v1::GpuTelemetry& gpu, Samples& samples) {
       for (const v1::ThrottleTime& time : gpu.throttle_times()) {
         samples.Add("reason", time.reason(), time.seconds());
       }
     }},
    {"assay_fleet_gpu_utilization_ratio",
     "Fraction of the last second, at most, in which a kernel was running.", MetricType::Gauge,
     [](const v1::GpuTelemetry& gpu, Samples& samples) {
       if (gpu.has_utilization()) samples.Add(gpu.utilization());
     }},
}};

std::string ModelOf(const v1::NodeDescription& node, int index) {
  for (const v1::GpuInventory& gpu : node.inventory().gpus()) {
    if (gpu.index() == index) return gpu.model();
  }
  return "";
}

MetricFamily FamilyOf(const Definition& definition, const std::vector<NodeTelemetry>& nodes) {
  MetricFamily family;
  family.name = definition.name;
  family.help = definition.help;
  family.type = definition.type;
  for (const NodeTelemetry& node : nodes) {
    for (const v1::GpuTelemetry& gpu : *node.gpus) {
      std::vector<ClientMetric::Label> labels = {{"node", node.node->name()},
                                                 {"gpu", std::to_string(gpu.index())},
                                                 {"model", ModelOf(*node.node, gpu.index())}};
      if (node.node->inventory().simulated()) labels.push_back({"simulated", "true"});
      Samples samples(family, std::move(labels));
      definition.add(gpu, samples);
    }
  }
  return family;
}

}  // namespace

std::vector<MetricFamily> GpuMetrics(const std::vector<NodeTelemetry>& nodes) {
  std::vector<MetricFamily> families;
  for (const Definition& definition : kDefinitions) {
    MetricFamily family = FamilyOf(definition, nodes);
    if (!family.metric.empty()) families.push_back(std::move(family));
  }
  return families;
}

std::string GpuMetricsText(const std::vector<NodeTelemetry>& nodes) {
  const prometheus::TextSerializer serializer;
  std::ostringstream text;
  for (const Definition& definition : kDefinitions) {
    std::vector<MetricFamily> family = {FamilyOf(definition, nodes)};
    if (!family[0].metric.empty()) serializer.Serialize(text, family);
  }
  return text.str();
}

}  // namespace assay::coordinator
