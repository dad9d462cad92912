// Reads facts about this machine's GPUs with NVML, NVIDIA's management library. NVML is loaded at
// run time so that programs also start on machines without a GPU driver.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "common/status.h"

namespace assay {

// The properties of a GPU. A field that could not be read is absent, never zero.
struct NvmlGpu {
  int index = 0;     // NVML's: PCI bus order.
  std::string uuid;  // "GPU-...".
  std::string name;  // "NVIDIA H200".
  std::string pci_bus_id;
  std::optional<int64_t> memory_bytes;
  std::optional<std::string> compute_capability;  // "9.0".
  std::optional<int> pcie_generation;             // Current. Idle GPUs lower it.
  std::optional<int> pcie_generation_max;
  std::optional<int> pcie_width;
  std::optional<int> pcie_width_max;
  std::optional<bool> ecc_enabled;
  std::optional<double> power_limit_watts;
  std::optional<double> power_limit_default_watts;
  std::optional<int> sm_clock_max_mhz;
  std::optional<int> memory_clock_max_mhz;
  std::optional<double> slowdown_celsius;  // Temperature at which the GPU reduces its clocks.
  std::optional<bool> mig_enabled;
  // The number of links that are up, and how many of these lead to an NVSwitch.
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
  // The reasons why clocks are below their maximum, such as "sw_power_cap" or "gpu_idle". Empty if
  // clocks are at their maximum, and nullopt if the reasons are unknown.
  std::optional<std::vector<std::string>> throttle_reasons;
  // Energy used since the driver was loaded.
  std::optional<double> energy_joules;
};

// The limits and load of a GPU. They are not part of NvmlSample, which is read many times during a
// measurement and must stay cheap.
struct NvmlLoad {
  std::optional<double> power_limit_watts;
  std::optional<int64_t> memory_used_bytes;
  // Fraction of the last sample period (between 1/6 s and 1 s) in which a kernel was running.
  std::optional<double> utilization;
};

// The total time, in seconds, for which one cause has reduced the GPU's clocks since the driver was
// loaded. The cause is "power", "thermal", "sync_boost", "board_limit" or "reliability".
struct NvmlThrottleTime {
  std::string reason;
  double seconds = 0;
};

// Errors of a GPU's memory and of its PCIe link.
struct NvmlErrors {
  // Errors since the driver was loaded.
  std::optional<int64_t> ecc_corrected;
  std::optional<int64_t> ecc_uncorrected;
  std::optional<bool> row_remap_pending;
  std::optional<bool> row_remap_failed;
  // Rows of memory that were replaced over the GPU's life, by the kind of error.
  std::optional<int64_t> rows_remapped_correctable;
  std::optional<int64_t> rows_remapped_uncorrectable;
  std::optional<int64_t> pcie_replays;  // Packets that were sent again.
};

// The NVLinks of a GPU.
struct NvmlLinkHealth {
  std::optional<int> active;
  // Replays, recoveries and CRC errors of all links since the driver was loaded.
  std::optional<int64_t> errors;
};

// An error that the driver logged for a GPU (an Xid). Its number identifies the kind of error. For
// example, 79 means that the GPU has fallen off the bus.
struct NvmlXid {
  int xid = 0;
  WallTime time{};  // When the error was read, which is shortly after it occurred.
};

// The utilization of a GPU over a period, as fractions from 0 to 1. The values come from the GPU's
// performance monitors (GPM), which only Hopper and newer GPUs have.
struct NvmlUtilization {
  std::optional<double> sm_active;         // Share of SMs with work.
  std::optional<double> occupancy;         // Resident warps, relative to the maximum.
  std::optional<double> tensor_active;     // Share of time with tensor pipes busy.
  std::optional<double> dram_utilization;  // Bandwidth, relative to the maximum.
};

// A process that computes on a GPU.
struct NvmlProcess {
  uint32_t pid = 0;  // In the driver's PID namespace, which may differ from the caller's.
  std::optional<int64_t> memory_bytes;  // GPU memory that the process holds.
};

// The connection between two GPUs, named as in `nvidia-smi topo -m`.
struct NvmlLink {
  int gpu_a = 0;
  int gpu_b = 0;               // Greater than gpu_a.
  std::string kind;            // "NV18", "PIX", "PXB", "PHB", "NODE" or "SYS".
  std::string no_peer_access;  // The result of WhyNoPeerAccess().
};

// An interface to NVML, NVIDIA's management library. Thread-safe. A call takes microseconds to a
// few milliseconds, but may block while the driver resets a GPU.
class Nvml {
 public:
  // Receives the first failure of each function: "nvmlDeviceGetEccMode failed: not supported ...".
  using Warn = std::function<void(const std::string& problem)>;

  // Loads NVML from `library`. If `library` is empty, uses the path in the environment variable
  // ASSAY_NVML_LIBRARY or, if that is not set, libnvidia-ml.so.1. Returns NOT_FOUND
  // (NO_NVIDIA_DRIVER) if the library is missing, and UNAVAILABLE if NVML cannot be initialized.
  // Calls `warn` on the thread that notices a problem.
  static Result<std::unique_ptr<Nvml>> Open(Warn warn, const std::string& library = "");

  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<std::string> DriverVersion() const;      // "580.95.05".
  std::optional<std::string> CudaDriverVersion() const;  // "13.0".

  // Restricts this object to the given GPUs, numbered from 0 in the given order. Each GPU is a
  // number or a UUID ("GPU-..."). Must be called before other threads use the object. Returns
  // NOT_FOUND for an unknown GPU and INVALID_ARGUMENT for a duplicate, and changes nothing in
  // either case.
  Status Select(const std::vector<std::string>& gpus);

  // GPUs are numbered 0 to GpuCount() - 1. For other numbers, all fields are absent.
  int GpuCount() const;
  NvmlGpu Describe(int index) const;
  NvmlSample Sample(int index) const;
  NvmlLoad Load(int index) const;
  std::vector<NvmlThrottleTime> ThrottleTimes(int index) const;
  NvmlErrors Errors(int index) const;
  // Returns values that are up to a minute old, because they take up to 90 calls of the driver.
  NvmlLinkHealth LinkHealth(int index) const;
  // Returns the newest Xid (an error logged by the driver) of this GPU, or nullopt if there was
  // none or the driver does not report Xids. The first call starts recording Xids for all GPUs, so
  // earlier ones are unknown. Does not wait for new ones.
  std::optional<NvmlXid> LastXid(int index) const;
  // Returns why a GPU is not responding: "GPU is lost (fell off the bus)" or "GPU requires a
  // reset". Returns "" if the GPU responds or the reason is unknown.
  std::string WhyLost(int index) const;
  // Runs `work` and returns the GPU's mean utilization during that time. `work` should take at
  // least 100 ms, because the GPU's monitors are slow. If `work` fails, returns its error. Returns
  // FAILED_PRECONDITION (NO_GPM) if the GPU or its driver has no such monitors.
  Result<NvmlUtilization> UtilizationDuring(int index, const std::function<Status()>& work) const;
  // Returns the processes doing compute work on the GPU, or nullopt if unknown. Includes processes
  // in other containers if the driver shows them.
  std::optional<std::vector<NvmlProcess>> ComputeProcesses(int index) const;

  // Returns one entry per pair of GPUs whose connection could be read.
  std::vector<NvmlLink> Links() const;

  // Returns why GPU `a` cannot read the memory of GPU `b`, such as "the chipset does not support
  // it". Returns "" if GPU `a` can read it or NVML gives no reason.
  std::string WhyNoPeerAccess(int a, int b) const;

  // Returns the number of the GPU with this UUID ("GPU-...").
  std::optional<int> FindByUuid(std::string_view uuid) const;

 private:
  class Library;
  explicit Nvml(std::unique_ptr<Library> library);

  std::unique_ptr<Library> library_;
};

// Returns the names of the reasons for reduced clocks ("throttle reasons") in NVML's bit mask,
// lowest bit first. Unknown bits are named by number, such as "bit_17".
std::vector<std::string> ThrottleReasonNames(uint64_t mask);

// Returns true if this throttle reason means that the GPU is slower than it should be. Returns
// false for normal reasons such as "gpu_idle" and clock settings.
bool IsHarmfulThrottleReason(std::string_view reason);

}  // namespace assay
