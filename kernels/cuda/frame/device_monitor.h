// What a GPU does while a case loads it: clock, power and temperature over time.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "host/nvml.h"
#include "common/status.h"

namespace assay {

struct DeviceReading {
  std::chrono::steady_clock::time_point time;
  double sm_clock_mhz = 0;
  double power_watts = 0;  // As NVML gives it: on Hopper a mean over a second.
  double temperature_celsius = 0;
};

// Reads NVML on a thread of its own from Start to destruction.
class DeviceMonitor {
 public:
  // UNSUPPORTED if NVML cannot read all three of CUDA's GPU `ordinal`.
  static Result<std::unique_ptr<DeviceMonitor>> Start(int ordinal);

  DeviceMonitor(const DeviceMonitor&) = delete;
  DeviceMonitor& operator=(const DeviceMonitor&) = delete;
  ~DeviceMonitor();

  // Means of the readings from `begin` to `end`, which is `time`; if there are none, the
  // latest before. Thread-safe.
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
