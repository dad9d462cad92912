// The interface to this machine's GPUs. It lists the GPUs that this process may use and reads their
// state. kernels/cuda/frame implements it with CUDA, and kernels/builtin.cc selects the
// implementation at build time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "host/conditions.h"

namespace assay {

// One GPU that this process may use.
struct LocalGpu {
  int ordinal = 0;   // CUDA's.
  std::string name;  // From NVML or CUDA: "NVIDIA H200".
  std::string uuid;  // "GPU-..."; empty if unknown.
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int sm_count = 0;
  std::string compute_capability;  // "9.0".
  // The GPU's boost clock in MHz, which the peak rates on its spec sheet assume. Predictions scale
  // these rates to the clock during the measurement.
  std::optional<double> sm_clock_max_mhz;
  std::optional<double> power_limit_watts;
  std::optional<bool> ecc_enabled;
  std::optional<int> nvlinks_active;
  std::string driver_version;  // "580.95.05"; empty if unknown.
  std::string pci_bus_id;      // "0000:9B:00.0"; empty if unknown.
};

// Versions of the libraries that the runner uses. Nullopt means not used.
struct LinkedSoftware {
  std::optional<std::string> cuda_runtime;
  std::optional<std::string> cublas;
  std::optional<std::string> nccl;
  std::optional<std::string> blas;  // "OpenBLAS 0.3.21".
};

// Hardware counters of one iteration. A field is nullopt if it could not be read.
struct CounterReport {
  std::string source;  // "cupti", "nvml_gpm" or "analytic".
  std::string reason;  // Why no better source was used; empty for "cupti".
  std::optional<double> dram_read_bytes;
  std::optional<double> dram_write_bytes;
  // Fractions from 0 to 1.
  std::optional<double> sm_active;
  std::optional<double> sm_throughput;
  std::optional<double> dram_throughput;
  std::optional<double> tensor_pipe_active;
  std::optional<double> l2_hit_rate;
  std::optional<double> shared_bank_conflicts;  // Wavefronts beyond the ideal number.
  std::optional<double>
      shared_wavefronts;  // Accesses; each keeps an SM's shared memory busy for a cycle.
  std::optional<double> global_load_bytes;  // Read by load instructions, caches included.
  std::optional<double> sm_cycles;
  std::optional<double> achieved_occupancy;  // Fraction from 0 to 1.
};

// Problems of a GPU on which work failed.
struct GpuTrouble {
  bool lost = false;            // Off the bus, or in need of a reset.
  bool context_broken = false;  // CUDA refuses all further work of this process.
  int other_processes = 0;      // Other processes that compute on it.
  int64_t other_bytes = 0;      // GPU memory of those processes.
  // The number of bytes of GPU memory that were missing when an allocation by this process last
  // failed, or 0 if none has failed. If a benchmark runs in several processes, only the one whose
  // allocation failed reports this number.
  int64_t missing_bytes = 0;
  std::string evidence;  // Summary for people; empty if nothing was found.
};

// The interface to the GPUs. Implemented for CUDA. Thread-safe.
class GpuPlatform {
 public:
  virtual ~GpuPlatform() = default;
  // Returns the GPUs in the order of their ordinals, or an empty list if there is no driver or no
  // GPU.
  virtual std::vector<LocalGpu> Gpus() = 0;
  // Sets cuda_runtime, cublas and nccl.
  virtual void FillVersions(LinkedSoftware* software) = 0;
  // Looks for problems of the GPU `ordinal` that explain a failure of work on it.
  virtual GpuTrouble TroubleOf(int ordinal) = 0;
  // Returns a sampler of clocks, power, throttle reasons and processes of the GPU `ordinal`.
  virtual std::unique_ptr<ConditionsSampler> NewSampler(int ordinal) = 0;
  // Measures the best rate that GPU `ordinal` can reach, in about a second. `kind` is either
  //   - the name of a Traffic value, such as "copy", for the bandwidth of GPU memory in bytes per
  //     second, or
  //   - the name of a Peak value, such as "fp64_tensor", for the rate of a matrix multiplication in
  //     operations per second.
  // Returns Unsupported() if `kind` is anything else or the GPU cannot run the measurement.
  virtual Result<double> MeasureCeiling(int ordinal, const std::string& kind) = 0;
  // Runs `iterate` once and returns the names of the kernels that ran on GPU `ordinal` during the
  // call, without duplicates, in the order of their first launch. `iterate` must not return until
  // the kernels that it launches have finished.
  virtual Result<std::vector<std::string>> KernelNames(int /*ordinal*/,
                                                       const std::function<Status()>& /*iterate*/) {
    return NotFound("this platform records no kernels", Reason::kNoProfiler);
  }
  // Returns the hardware counters of GPU `ordinal` for one iteration. `iterate` must run
  // `iterations` iterations and wait for them to finish. It may be called several times, because a
  // GPU cannot always collect all counters in one pass.
  virtual Result<CounterReport> HardwareCounters(int /*ordinal*/, int64_t /*iterations*/,
                                                 const std::function<Status()>& /*iterate*/) {
    return NotFound("this platform has no hardware counters", Reason::kNoProfiler);
  }
  // Runs `work`, which takes about a second, and returns what the GPU's performance monitors
  // reported during that time.
  virtual Result<CounterReport> MonitorDuring(int /*ordinal*/,
                                              const std::function<Status()>& /*work*/) {
    return NotFound("this platform has no monitors", Reason::kNoProfiler);
  }
};

// Returns the GPU platform of this build, created on first use, or null if Assay was built without
// CUDA.
GpuPlatform* Gpu();

// Returns the versions of the GPU libraries. kernels/cpu/blas.h has the BLAS version.
inline LinkedSoftware Software() {
  LinkedSoftware software;
  if (Gpu() != nullptr) Gpu()->FillVersions(&software);
  return software;
}

// Returns up to 16 KiB of what GPU libraries logged during the current benchmark: NCCL's warnings,
// followed by the end of NCCL's log. Returns "" unless the benchmark runs on several ranks
// (processes). Thread-safe.
std::string LibraryLog();

// CUDA's answer to the query for GPUs, and related facts about the node.
struct CudaAnswer {
  int error = 0;            // A cudaError_t. 0 without a GPU means cudaErrorNoDevice.
  std::string error_name;   // "cudaErrorSystemNotReady".
  int runtime_version = 0;  // In the format of CUDART_VERSION: 13010 is 13.1.
  int driver_version = 0;   // Newest runtime that the driver supports. 0 without a driver.
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES.
  // True if /dev contains device files of NVIDIA GPUs. The node then has GPUs even if CUDA finds
  // none.
  bool device_files = false;
};

struct GpuAbsence {
  bool broken = false;  // True if the node has GPUs that it cannot use.
  std::string why;      // What is wrong and what to do, for people.
};

// Explains why CUDA found no GPUs, given its answer.
GpuAbsence ExplainNoGpu(const CudaAnswer& answer);

}  // namespace assay
