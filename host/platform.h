// What the runner can tell about the machine it is on. GPU facts come from a
// GpuPlatform, which kernels/cuda implements and builtin.cc makes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "host/cgroup_cpu.h"

namespace assay {

// One GPU that this process may use.
struct LocalGpu {
  int ordinal = 0;   // CUDA's.
  std::string name;  // As NVML and CUDA give it: "NVIDIA H200".
  std::string uuid;  // "GPU-..."; empty if unknown.
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int sm_count = 0;
  std::string compute_capability;  // "9.0".
  // Clock of the boost peak, to scale the sheet's peak to the observed clock.
  std::optional<double> sm_clock_max_mhz;
  std::optional<double> power_limit_watts;
  std::optional<bool> ecc_enabled;
  std::optional<int> nvlinks_active;
  std::string driver_version;  // "580.95.05"; empty if unknown.
  std::string pci_bus_id;      // "0000:9B:00.0"; empty if unknown.
};

// Versions of the libraries that the runner uses; absent if it has none.
struct LinkedSoftware {
  std::optional<std::string> cuda_runtime;
  std::optional<std::string> cublas;
  std::optional<std::string> nccl;
  std::optional<std::string> blas;  // "OpenBLAS 0.3.21".
};

// What the hardware did during a window. Absent means not readable.
struct WindowConditions {
  std::optional<double> sm_clock_mhz;  // Median.
  std::optional<double> memory_clock_mhz;
  std::optional<double> power_watts;          // Mean.
  std::optional<double> temperature_celsius;  // Highest.
  std::vector<std::string> throttle_reasons;  // Seen at least once: "sw_power_cap".
  std::optional<int> other_gpu_processes;
  std::optional<double> load_average;
  std::vector<std::string> flags;  // "throttled", "shared_gpu", "busy_host".
};

// Samples conditions on a thread of its own. Start, then Stop, once each.
class ConditionsSampler {
 public:
  virtual ~ConditionsSampler() = default;
  virtual void Start() = 0;
  // What was seen since Start. Unreadable facts are absent; it cannot fail.
  virtual WindowConditions Stop() = 0;
  // Power at this moment, in watts: what a warm-up waits for. Not the clock, which at
  // the power limit jumps by several percent for ever; its settling shows in the times.
  // Empty if unreadable. Not between Start and Stop.
  virtual std::vector<double> Readings() { return {}; }
};

// Hardware counters of one iteration. Absent means not readable.
struct CounterReport {
  std::string source;  // "cupti", "nvml_gpm" or "analytic".
  std::string reason;  // Why not a better source; empty for "cupti".
  std::optional<double> dram_read_bytes;
  std::optional<double> dram_write_bytes;
  std::optional<double> sm_active;  // These five of 1.0.
  std::optional<double> sm_throughput;
  std::optional<double> dram_throughput;
  std::optional<double> tensor_pipe_active;
  std::optional<double> l2_hit_rate;
  std::optional<double> shared_bank_conflicts;  // Wavefronts beyond the ideal.
  std::optional<double> achieved_occupancy;     // Of 1.0.
};

// What speaks against a GPU on which work failed.
struct GpuTrouble {
  bool lost = false;            // Off the bus, or to be reset.
  bool context_broken = false;  // CUDA refuses all further work of this process.
  int other_processes = 0;      // That compute on it.
  int64_t other_bytes = 0;      // Of the GPU's memory, that they hold.
  // What the last request of this process for GPU memory that was refused lacked; 0: none
  // was. Of a gang's ranks, only the one that was refused has one.
  int64_t missing_bytes = 0;
  std::string evidence;  // Of all these, for people; empty if nothing was found.
};

// Implemented once for CUDA. Thread-safe.
class GpuPlatform {
 public:
  virtual ~GpuPlatform() = default;
  // By ordinal; empty without a driver or a GPU.
  virtual std::vector<LocalGpu> Gpus() = 0;
  // Sets cuda_runtime, cublas, nccl.
  virtual void FillVersions(LinkedSoftware* software) = 0;
  // Why work on the GPU `ordinal` may have failed through no fault of its own.
  virtual GpuTrouble TroubleOf(int ordinal) = 0;
  // Clocks, power, throttle reasons, processes of the GPU `ordinal`.
  virtual std::unique_ptr<ConditionsSampler> NewSampler(int ordinal) = 0;
  // What the GPU `ordinal` reaches, per second, in a probe of about a second: with
  // `kind` one of Work::traffic the bytes that its memory moves, with a column of
  // Work::peak the FLOP (or operations) of a matrix multiplication. Unsupported() if
  // there is no such probe or the GPU lacks it.
  virtual Result<double> MeasureCeiling(int ordinal, const std::string& kind) = 0;
  // The kernels that `iterate`, which waits for its work, launches on the GPU
  // `ordinal`: each once, in order of first launch, named for people. Runs it once.
  virtual Result<std::vector<std::string>> KernelNames(int /*ordinal*/,
                                                       const std::function<Status()>& /*iterate*/) {
    return NotFound("this platform records no kernels", Reason::kNoProfiler);
  }
  // Hardware counters of `iterate`, which runs `iterations` iterations and waits for
  // them, as means of an iteration. Runs it once for each pass that the counters need.
  virtual Result<CounterReport> HardwareCounters(int /*ordinal*/, int64_t /*iterations*/,
                                                 const std::function<Status()>& /*iterate*/) {
    return NotFound("this platform has no hardware counters", Reason::kNoProfiler);
  }
  // What the GPU's monitors say of the time that `work` takes: a second or so.
  virtual Result<CounterReport> MonitorDuring(int /*ordinal*/,
                                              const std::function<Status()>& /*work*/) {
    return NotFound("this platform has no monitors", Reason::kNoProfiler);
  }
};

// What the libraries of this build wrote about the running gang: NCCL's warnings, then the
// end of its log, at most 16 KiB. Empty without any. Thread-safe.
std::string LibraryLog();

// The GPU platform of this build, made on first use; null if built without CUDA.
GpuPlatform* Gpu();

// CPU facts, from /proc.
struct HostCpu {
  std::string model;  // "AMD EPYC 9654"; empty if unknown.
  // Hardware threads that this process may keep busy: those that it may use, or fewer where the
  // CPU time of its control group is limited.
  int threads = 1;
  // Largest cache of any level, in bytes; absent if the kernel does not say.
  std::optional<int64_t> last_level_cache_bytes;
};
const HostCpu& Cpu();
// How many of `usable` CPUs the quotas leave: whole ones, for threads that share one are stopped
// again and again. At least one.
int ThreadsWithin(int usable, const std::vector<CpuQuota>& quotas);
// CPUs that this process might use when it began: a case binds threads to some of them. Empty if
// the system does not tell.
const std::vector<int>& UsableCpus();

LinkedSoftware Software();  // What GPUs work with; BlasVersion() is apart.

// Host conditions for every case, GPU conditions too if `gpu` is an ordinal and
// not negative. "busy_host" is set if others than Assay used more than a tenth of the
// CPUs' time in the window.
std::unique_ptr<ConditionsSampler> NewConditionsSampler(int gpu);

}  // namespace assay
