#include "kernels/cuda/frame/device_monitor.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/gpu_uuid.h"

namespace assay {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// A reading takes about a millisecond.
constexpr auto kPeriod = std::chrono::milliseconds(25);

// Absent if one of the three cannot be read.
std::optional<DeviceReading> Read(const Nvml& nvml, int index) {
  const NvmlSample sample = nvml.Sample(index);
  if (!sample.sm_clock_mhz || !sample.power_watts || !sample.temperature_celsius) {
    return std::nullopt;
  }
  return DeviceReading{std::chrono::steady_clock::now(), *sample.sm_clock_mhz, *sample.power_watts,
                       *sample.temperature_celsius};
}

}  // namespace

Result<std::unique_ptr<DeviceMonitor>> DeviceMonitor::Start(int ordinal) {
  const std::string refusal = "needs NVML's clock, power and temperature: ";
  const std::string uuid = GpuUuid(ordinal);
  auto nvml = Nvml::Open(nullptr);
  if (!nvml.ok()) return Unsupported(refusal + nvml.status().message());
  const std::optional<int> index = (*nvml)->FindByUuid(uuid);
  if (!index) return Unsupported(refusal + "it does not know the GPU " + uuid);
  const auto first = Read(**nvml, *index);
  if (!first) return Unsupported(refusal + "it cannot read all of them on this GPU");
  return std::unique_ptr<DeviceMonitor>(new DeviceMonitor(std::move(nvml).value(), *index, *first));
}

DeviceMonitor::DeviceMonitor(std::unique_ptr<Nvml> nvml, int index, const DeviceReading& first)
    : nvml_(std::move(nvml)), index_(index), readings_({first}), thread_([this] { Loop(); }) {}

DeviceMonitor::~DeviceMonitor() {
  ending_ = true;
  thread_.join();
}

void DeviceMonitor::Loop() {
  while (!ending_) {
    if (const auto reading = Read(*nvml_, index_)) {
      MutexLock lock(mutex_);
      readings_.push_back(*reading);
    }
    std::this_thread::sleep_for(kPeriod);
  }
}

DeviceReading DeviceMonitor::MeanOver(SteadyTime begin, SteadyTime end) const {
  const auto earlier = [](SteadyTime time, const DeviceReading& reading) {
    return time < reading.time;
  };
  MutexLock lock(mutex_);
  const auto after = std::upper_bound(readings_.begin(), readings_.end(), end, earlier);
  auto from = std::upper_bound(readings_.begin(), after, begin, earlier);
  if (from == after && from != readings_.begin()) --from;
  if (from == after) return readings_.front();
  DeviceReading mean;
  mean.time = end;
  const auto count = static_cast<double>(after - from);
  for (auto reading = from; reading != after; ++reading) {
    mean.sm_clock_mhz += reading->sm_clock_mhz / count;
    mean.power_watts += reading->power_watts / count;
    mean.temperature_celsius += reading->temperature_celsius / count;
  }
  return mean;
}

}  // namespace assay
