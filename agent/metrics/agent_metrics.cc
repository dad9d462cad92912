#include "agent/metrics/agent_metrics.h"

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <chrono>
#include <optional>
#include <utility>

namespace assay::agent {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

using Labels = std::vector<ClientMetric::Label>;

class Family {
 public:
  Family(const char* name, const char* help, MetricType type) {
    family_.name = name;
    family_.help = help;
    family_.type = type;
  }

  // An absent value is exported as no sample, not as zero.
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

std::optional<double> MegahertzToHertz(std::optional<double> megahertz) {
  if (!megahertz) return std::nullopt;
  return *megahertz * 1e6;
}

std::optional<double> AsNumber(std::optional<int64_t> value) {
  if (!value) return std::nullopt;
  return static_cast<double>(*value);
}

void CollectGpus(const v1::NodeInventory& inventory, const Nvml& nvml,
                 std::vector<MetricFamily>* families) {
  Family info("assay_gpu_info", "What the GPU is; always 1.", MetricType::Gauge);
  Family energy("assay_gpu_energy_joules_total", "Energy used since the driver was loaded.",
                MetricType::Counter);
  Family power("assay_gpu_power_watts", "Power drawn now.", MetricType::Gauge);
  Family temperature("assay_gpu_temperature_celsius", "Temperature of the GPU's core.",
                     MetricType::Gauge);
  Family sm_clock("assay_gpu_sm_clock_hertz", "Clock of the multiprocessors now.",
                  MetricType::Gauge);
  Family memory_clock("assay_gpu_memory_clock_hertz", "Clock of the memory now.",
                      MetricType::Gauge);
  Family throttle("assay_gpu_throttle_seconds_total",
                  "Time that clocks were held down since the driver was loaded, by reason.",
                  MetricType::Counter);
  Family power_limit("assay_gpu_power_limit_watts", "Power that the GPU may draw now.",
                     MetricType::Gauge);
  Family memory_used("assay_gpu_memory_used_bytes", "Memory of the GPU that is in use.",
                     MetricType::Gauge);
  Family utilization("assay_gpu_utilization_ratio",
                     "Fraction of the last second, at most, in which a kernel was running.",
                     MetricType::Gauge);
  Family ecc("assay_gpu_ecc_errors_total", "ECC errors since the driver was loaded, by kind.",
             MetricType::Counter);
  Family xid("assay_gpu_last_xid",
             "Number of the newest Xid, an error that the driver logged, since the agent started.",
             MetricType::Gauge);
  for (const v1::GpuInventory& gpu : inventory.gpus()) {
    const ClientMetric::Label index{"gpu", std::to_string(gpu.index())};
    info.Add(1.0, {index,
                   {"uuid", gpu.uuid()},
                   {"model", gpu.model()},
                   {"driver", inventory.driver_version()}});
    const NvmlSample sample = nvml.Sample(gpu.index());
    energy.Add(sample.energy_joules, {index});
    power.Add(sample.power_watts, {index});
    temperature.Add(sample.temperature_celsius, {index});
    sm_clock.Add(MegahertzToHertz(sample.sm_clock_mhz), {index});
    memory_clock.Add(MegahertzToHertz(sample.memory_clock_mhz), {index});
    const NvmlLoad load = nvml.Load(gpu.index());
    power_limit.Add(load.power_limit_watts, {index});
    memory_used.Add(AsNumber(load.memory_used_bytes), {index});
    utilization.Add(load.utilization, {index});
    const NvmlErrors errors = nvml.Errors(gpu.index());
    ecc.Add(AsNumber(errors.ecc_corrected), {index, {"kind", "corrected"}});
    ecc.Add(AsNumber(errors.ecc_uncorrected), {index, {"kind", "uncorrected"}});
    if (const auto last = nvml.LastXid(gpu.index())) xid.Add(last->xid, {index});
    for (const NvmlThrottleTime& time : nvml.ThrottleTimes(gpu.index())) {
      throttle.Add(time.seconds, {index, {"reason", time.reason}});
    }
  }
  for (Family* family : {&info, &energy, &power, &power_limit, &temperature, &sm_clock,
                         &memory_clock, &throttle, &memory_used, &utilization, &ecc, &xid}) {
    std::move(*family).MoveTo(families);
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
