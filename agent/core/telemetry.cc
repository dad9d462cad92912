#include "agent/core/telemetry.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "wire/timestamps.h"

namespace assay::agent {
namespace {

constexpr auto kEndPatience = std::chrono::seconds(1);

v1::GpuTelemetry ReadOne(const Nvml& nvml, int index) {
  v1::GpuTelemetry gpu;
  gpu.set_index(index);
  const NvmlSample sample = nvml.Sample(index);
  if (sample.temperature_celsius) gpu.set_temperature_celsius(*sample.temperature_celsius);
  if (sample.power_watts) gpu.set_power_watts(*sample.power_watts);
  if (sample.sm_clock_mhz) gpu.set_sm_clock_mhz(*sample.sm_clock_mhz);
  if (sample.memory_clock_mhz) gpu.set_memory_clock_mhz(*sample.memory_clock_mhz);
  if (sample.energy_joules) gpu.set_energy_joules(*sample.energy_joules);
  if (sample.throttle_reasons) {
    for (const std::string& reason : *sample.throttle_reasons) {
      if (reason != "gpu_idle") gpu.add_throttle_reasons(reason);
    }
  }
  const NvmlLoad load = nvml.Load(index);
  if (load.power_limit_watts) gpu.set_power_limit_watts(*load.power_limit_watts);
  if (load.memory_used_bytes) gpu.set_memory_used_bytes(*load.memory_used_bytes);
  if (load.utilization) gpu.set_utilization(*load.utilization);
  const NvmlErrors errors = nvml.Errors(index);
  if (errors.ecc_corrected) gpu.set_ecc_corrected(*errors.ecc_corrected);
  if (errors.ecc_uncorrected) gpu.set_ecc_uncorrected(*errors.ecc_uncorrected);
  if (errors.row_remap_pending) gpu.set_row_remap_pending(*errors.row_remap_pending);
  if (errors.row_remap_failed) gpu.set_row_remap_failed(*errors.row_remap_failed);
  if (errors.rows_remapped_correctable) {
    gpu.set_rows_remapped_correctable(*errors.rows_remapped_correctable);
  }
  if (errors.rows_remapped_uncorrectable) {
    gpu.set_rows_remapped_uncorrectable(*errors.rows_remapped_uncorrectable);
  }
  if (errors.pcie_replays) gpu.set_pcie_replays(*errors.pcie_replays);
  const NvmlLinkHealth links = nvml.LinkHealth(index);
  if (links.active) gpu.set_nvlinks_active(*links.active);
  if (links.errors) gpu.set_nvlink_errors(*links.errors);
  if (const auto xid = nvml.LastXid(index)) {
    gpu.set_last_xid(xid->xid);
    *gpu.mutable_last_xid_time() = schema::ToTimestamp(xid->time);
  }
  for (const NvmlThrottleTime& time : nvml.ThrottleTimes(index)) {
    v1::ThrottleTime* added = gpu.add_throttle_times();
    added->set_reason(time.reason);
    added->set_seconds(time.seconds);
  }
  return gpu;
}

}  // namespace

Telemetry ReadTelemetry(const Nvml& nvml, const std::vector<int>& gpu_indices) {
  Telemetry gpus;
  gpus.reserve(gpu_indices.size());
  for (const int index : gpu_indices) gpus.push_back(ReadOne(nvml, index));
  return gpus;
}

TelemetryReader::TelemetryReader(std::function<Telemetry()> read) : read_(std::move(read)) {
  MutexLock lock(mutex_);
  Begin();
}

TelemetryReader::~TelemetryReader() {
  MutexLock lock(mutex_);
  if (values_.valid()) values_.wait_for(kEndPatience);
}

Telemetry TelemetryReader::Take() {
  MutexLock lock(mutex_);
  if (values_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return {};
  Telemetry values = values_.get();
  Begin();
  return values;
}

void TelemetryReader::Begin() {
  auto task = std::make_shared<std::packaged_task<Telemetry()>>(read_);
  values_ = task->get_future();
  std::thread([task] { (*task)(); }).detach();
}

}  // namespace assay::agent
