// Clock, power and temperature of a GPU over time, while a case loads it.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "common/status.h"
#include "host/nvml.h"

namespace assay {

struct DeviceReading {
  std::chrono::steady_clock::time_point time;
  double sm_clock_mhz = 0;
  double power_watts = 0;  // As NVML reports it: on Hopper a mean over one second.
  double temperature_celsius = 0;
};

// Reads NVML on its own thread from Start to destruction.
class DeviceMonitor {
 public:
  // UNSUPPORTED if NVML cannot read all three for CUDA's GPU `ordinal`.
  static Result<std::unique_ptr<DeviceMonitor>> Start(int ordinal);

  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;
  ~DeviceMonitor();

  // Returns the means of the readings from `begin` to `end`, with `time` = `end`; without any, the
  // latest reading before. Thread-safe.
  DeviceReading MeanOver(std::chrono::steady_clock::time_point begin,
                         std::chrono::steady_clock::time_point end) const;

 private:
  DeviceMonitor(std::unique_ptr<Nvml> nvml, int index, const DeviceReading& first);
  void Loop();

  const std::unique_ptr<Nvml> nvml_;
  const int index_;
  mutable Mutex mutex_;
  std::vector<DeviceReading> readings_ ASSAY_GUARDED_BY(mutex_);  // Never empty; in order.
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace assay
