// Reads the current state of the node's GPUs, which heartbeats carry to the coordinator.
#pragma once

#include <functional>
#include <future>
#include <vector>

#include "assay/v1/telemetry.pb.h"
#include "common/mutex.h"
#include "host/nvml.h"

namespace assay::agent {

using Telemetry = std::vector<v1::GpuTelemetry>;

// Reads the state of the GPUs with these indices. Takes a few milliseconds per GPU, but blocks
// while the driver resets a GPU.
Telemetry ReadTelemetry(const Nvml& nvml, const std::vector<int>& gpu_indices);

// A reader of GPU state that never blocks its caller. Each read runs on its own thread, which is
// abandoned if the driver hangs. Thread-safe.
class TelemetryReader {
 public:
  // Begins the first read.
  explicit TelemetryReader(std::function<Telemetry()> read);
  // Waits up to a second for a read in progress.
  ~TelemetryReader();
  TelemetryReader(const TelemetryReader&) = delete;
  TelemetryReader& operator=(const TelemetryReader&) = delete;

  // Returns the values of the read started by the previous call, and starts the next read. If the
  // previous read has not finished, returns an empty list, because older values would hide a hung
  // driver.
  Telemetry Take();

 private:
  void Begin() ASSAY_REQUIRES(mutex_);

  const std::function<Telemetry()> read_;
  Mutex mutex_;
  std::future<Telemetry> values_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::agent
