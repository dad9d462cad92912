// Conditions of the hardware while something is measured.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// The conditions during a window. Absent: not readable.
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
  // Returns the present power in watts, on which a warm-up waits. Clocks are not included: at the
  // power limit they keep changing by several percent, and the measured times show whether they
  // have settled. Empty if unreadable. Must not be called between Start and Stop.
  virtual std::vector<double> Readings() { return {}; }
};

// Returns a sampler of host conditions, and of the conditions of the GPU `gpu` unless that is
// negative. Sets the flag "busy_host" if processes other than Assay's used more than a tenth of
// the CPU time in the window.
std::unique_ptr<ConditionsSampler> NewConditionsSampler(int gpu);

}  // namespace assay
