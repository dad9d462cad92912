// Facts about this machine's GPUs from NVIDIA's management library. The library is loaded at run
// time, so that programs start on machines without a driver. Uses only the C++ standard library,
// because agent and runner share it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace assay {

// The properties of a GPU. An absent field could not be read; it is never zero instead.
struct NvmlGpu {
  int index = 0;     // NVML's: PCI bus order.
  std::string uuid;  // "GPU-...".
  std::string name;  // "NVIDIA H200".
  std::string pci_bus_id;
  std::optional<int64_t> memory_bytes;
  std::optional<std::string> compute_capability;  // "9.0".
  std::optional<int> pcie_generation;             // Now; GPUs at rest drop it.
  std::optional<int> pcie_generation_max;
  std::optional<int> pcie_width;
  std::optional<int> pcie_width_max;
  std::optional<bool> ecc_enabled;
  std::optional<double> power_limit_watts;
  std::optional<double> power_limit_default_watts;
  std::optional<int> sm_clock_max_mhz;
  std::optional<int> memory_clock_max_mhz;
  std::optional<bool> mig_enabled;
  // Links that are up, and how many of these lead to an NVSwitch.
  std::optional<int> nvlinks_active;
  int nvlinks_to_switch = 0;
  // Rate of one link in one direction, in bytes per second.
  std::optional<int64_t> nvlink_bytes_per_second;
  std::optional<int> numa_node;
};

// The current state of a GPU.
struct NvmlSample {
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<double> power_watts;
  std::optional<double> temperature_celsius;
  // Why clocks are held below their maximum, for example "sw_power_cap"; "gpu_idle"
  // and clock settings included. Empty set: nothing holds them.
  std::optional<std::vector<std::string>> throttle_reasons;
  // Since the driver was loaded.
  std::optional<double> energy_joules;
};

// Seconds that clocks were held down since the driver was loaded, for one cause:
// "power", "thermal", "sync_boost", "board_limit" or "reliability".
struct NvmlThrottleTime {
  std::string reason;
  double seconds = 0;
};

// Faults that a GPU counted.
struct NvmlErrors {
  std::optional<int64_t> ecc_uncorrected;  // Since the driver was loaded.
  std::optional<bool> row_remap_pending;
  std::optional<bool> row_remap_failed;
};

// Utilisation of a GPU between two times, as fractions of 1.0, from its performance monitors (GPM,
// available from Hopper on).
struct NvmlUtilization {
  std::optional<double> sm_active;         // SMs that had work.
  std::optional<double> occupancy;         // Resident warps over those that fit.
  std::optional<double> tensor_active;     // Tensor pipes at work.
  std::optional<double> dram_utilization;  // Bandwidth over its maximum.
};

// A process that computes on a GPU.
struct NvmlProcess {
  uint32_t pid = 0;  // Of the driver's PID namespace, which need not be the caller's.
  std::optional<int64_t> memory_bytes;  // Of the GPU's, that it holds.
};

// How two GPUs reach each other, as `nvidia-smi topo -m` names it.
struct NvmlLink {
  int gpu_a = 0;
  int gpu_b = 0;               // Greater than gpu_a.
  std::string kind;            // "NV18", "PIX", "PXB", "PHB", "NODE" or "SYS".
  std::string no_peer_access;  // As WhyNoPeerAccess.
};

// An open NVML. Thread-safe. Calls take microseconds to a few milliseconds, but may
// block while the driver resets a GPU.
class Nvml {
 public:
  // Told once a call that fails: "nvmlDeviceGetEccMode failed: not supported ...".
  using Warn = std::function<void(const std::string& problem)>;

  // Loads `library`, or the one that ASSAY_NVML_LIBRARY names, or libnvidia-ml.so.1.
  // NOT_FOUND with reason NO_NVIDIA_DRIVER if there is none, UNAVAILABLE if it does
  // not start. `warn` may be called from any thread that calls in here.
  static Result<std::unique_ptr<Nvml>> Open(Warn warn, const std::string& library = "");

  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<std::string> DriverVersion() const;      // "580.95.05".
  std::optional<std::string> CudaDriverVersion() const;  // "13.0".

  // From now on there are only these GPUs, numbered from 0 in this order: each a number
  // or a UUID ("GPU-..."). For one thread, before others call in here. NOT_FOUND, and
  // nothing changed, names the one that is not there; INVALID_ARGUMENT one given twice.
  Status Select(const std::vector<std::string>& gpus);

  // GPUs are numbered 0 to GpuCount() - 1. Other numbers read as all absent.
  int GpuCount() const;
  NvmlGpu Describe(int index) const;
  NvmlSample Sample(int index) const;
  std::vector<NvmlThrottleTime> ThrottleTimes(int index) const;
  NvmlErrors Errors(int index) const;
  // Why the GPU cannot be reached: "GPU is lost (fell off the bus)" or "GPU requires a
  // reset"; empty if it answers or NVML cannot tell.
  std::string WhyLost(int index) const;
  // Means over the time that `work` takes, which should be 100 ms or more: the
  // monitors are slow. FAILED_PRECONDITION (NO_GPM) if this GPU or driver has none;
  // else the error of `work`.
  Result<NvmlUtilization> UtilizationDuring(int index, const std::function<Status()>& work) const;
  // Processes that compute on the GPU, other containers' included where the driver
  // shows them.
  std::optional<std::vector<NvmlProcess>> ComputeProcesses(int index) const;

  // One entry a pair of GPUs whose connection could be read.
  std::vector<NvmlLink> Links() const;

  // Why neither GPU can read the other's memory: "the chipset does not support it". Empty
  // if they can or NVML cannot tell.
  std::string WhyNoPeerAccess(int a, int b) const;

  // The number of the GPU with this UUID ("GPU-...").
  std::optional<int> FindByUuid(std::string_view uuid) const;

 private:
  class Library;
  explicit Nvml(std::unique_ptr<Library> library);

  std::unique_ptr<Library> library_;
};

// The names of the bits of an NVML clocks event (throttle) mask, lowest bit first;
// bits without a name read "bit_17".
std::vector<std::string> ThrottleReasonNames(uint64_t mask);

// True for reasons that mean less performance than the GPU could give: not for
// "gpu_idle" and clocks that somebody set.
bool IsHarmfulThrottleReason(std::string_view reason);

}  // namespace assay
