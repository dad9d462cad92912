// Records the conditions of the hardware during a measurement.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/nvml.h"

namespace assay {

// The conditions during a window. A field is nullopt if it could not be read.
struct WindowConditions {
  std::optional<double> sm_clock_mhz;  // Median.
  std::optional<double> memory_clock_mhz;
  std::optional<double> power_watts;          // Mean.
  std::optional<double> temperature_celsius;  // Maximum.
  std::vector<std::string> throttle_reasons;  // Seen at least once: "sw_power_cap".
  std::optional<int> other_gpu_processes;
  std::optional<double> load_average;
  std::vector<std::string> flags;  // "throttled", "shared_gpu", "busy_host".
};

// Samples conditions on its own thread. Call Start, then Stop, once each.
class ConditionsSampler {
 public:
  virtual ~ConditionsSampler() = default;
  virtual void Start() = 0;
  // Returns the conditions since Start. Unreadable facts are absent. Cannot fail.
  virtual WindowConditions Stop() = 0;
  // Returns the current power readings in watts, or an empty list if there are none. A benchmark
  // warms up until these readings are stable. Clock rates are not used for this, because they keep
  // varying by several percent while a GPU is at its power limit. Must not be called between
  // Start() and Stop().
  virtual std::vector<double> Readings() { return {}; }
};

// Returns a sampler for the conditions of the host and, unless `gpu` is null, of a GPU. The sampler
// sets the flag "busy_host" if programs other than Assay used more than a tenth of the CPU time.
std::unique_ptr<ConditionsSampler> NewConditionsSampler(std::unique_ptr<ConditionsSampler> gpu);

// The functions that a sampler uses to read one GPU. They are called on the sampler's own thread
// and on any thread that calls Readings().
struct NvmlSource {
  std::function<NvmlSample()> sample;
  std::function<std::optional<std::vector<NvmlProcess>>()> processes;
};

// Returns a sampler for the conditions of one GPU, such as clocks and power. It also reports the
// largest number of other processes on the GPU. Counting is slow, so it happens only at the start,
// at the end, and every `process_period` in between.
std::unique_ptr<ConditionsSampler> NewNvmlSampler(
    NvmlSource source, std::chrono::milliseconds process_period = std::chrono::seconds(1));

// A meter of the CPU time used by programs other than Assay. To recognize Assay's processes, it
// follows the chain of this process's parents as long as their names begin with "assay". The last
// of these, or this process if there are none, and all its descendants are Assay's. Not
// thread-safe.
class HostLoad {
 public:
  // `cpus` lists the CPUs that this process may use. `proc` replaces the folder /proc.
  explicit HostLoad(std::vector<int> cpus, std::string proc = "/proc");

  void Begin();

  // Returns the fraction of the CPU time since Begin() used by other programs, including time
  // withheld by a hypervisor. Ignores interrupts, because most of them serve the measured work.
  // Returns nullopt if the kernel does not report these times, or if less than 100 ms (ten kernel
  // ticks) has passed since Begin().
  std::optional<double> OthersShare() const;

 private:
  struct Ticks {
    int64_t used = 0;
    int64_t all = 0;
  };
  std::optional<Ticks> ReadCpus() const;
  // Returns the CPU time, in ticks, used by Assay's processes, including their children that have
  // exited. `tree` contains the ids of the running processes.
  int64_t TicksOf(const std::vector<int>& tree) const;
  std::vector<int> OwnTree() const;

  const std::vector<int> cpus_;
  const std::string proc_;
  // Assay's processes. The list is read before the window, because that takes long.
  const std::vector<int> tree_;
  std::optional<Ticks> cpus_begin_;
  int64_t own_begin_ = 0;
};

}  // namespace assay
