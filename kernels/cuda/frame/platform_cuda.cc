// Facts about GPUs from the CUDA runtime and from NVML.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "common/mutex.h"
#include "host/conditions.h"
#include "host/nvml.h"
#include "kernels/cuda/frame/cuda.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/find_gpu_absence.h"
#include "kernels/cuda/frame/gpu_uuid.h"
#include "kernels/cuda/frame/probe.h"
#include "kernels/cuda/gemm/cublas_lt.h"
#include "kernels/cuda/profiling/cupti_counters.h"
#include "kernels/cuda/profiling/cupti_kernels.h"

namespace assay {
namespace {

// Returns how much memory other processes hold on the current GPU. `processes` lists all processes
// known to NVML; `mine` is how many of them are this process (0 or 1). Two cases are special:
// - In a container, this process may be listed under a different PID. It is then assumed to be the
//   process with the least memory, because its benchmark case has already finished.
// - If the driver reports no memory per process, all used memory beyond one CUDA context is
//   considered held by others.
int64_t HeldByOthers(const std::vector<NvmlProcess>& processes, size_t mine) {
  constexpr int64_t kContextBytes = int64_t{512} << 20;
  int64_t all = 0;
  int64_t least = std::numeric_limits<int64_t>::max();
  std::optional<int64_t> own;
  for (const NvmlProcess& process : processes) {
    if (!process.memory_bytes) {
      size_t free = 0;
      size_t total = 0;
      if (cudaMemGetInfo(&free, &total) != cudaSuccess) return 0;
      return std::max<int64_t>(0, static_cast<int64_t>(total - free) - kContextBytes);
    }
    all += *process.memory_bytes;
    least = std::min(least, *process.memory_bytes);
    if (static_cast<pid_t>(process.pid) == getpid()) own = process.memory_bytes;
  }
  return mine == 0 ? all : all - own.value_or(least);
}

// A sampler that reports nothing, for nodes without NVML.
class BlindSampler : public ConditionsSampler {
 public:
  void Start() override {}
  WindowConditions Stop() override { return {}; }
};

class CudaPlatform : public GpuPlatform {
 public:
  explicit CudaPlatform(std::function<std::optional<std::string>()> nccl_version)
      : nccl_version_(std::move(nccl_version)) {}

  std::vector<LocalGpu> Gpus() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
      cudaGetLastError();
      return {};
    }
    std::vector<LocalGpu> gpus;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      cudaDeviceProp properties;
      if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) {
        cudaGetLastError();
        continue;
      }
      gpus.push_back(Describe(ordinal, properties));
    }
    if (!gpus.empty()) seen_ = true;
    return gpus;
  }

  void FillVersions(LinkedSoftware* software) override {
    software->cuda_runtime =
        std::to_string(CUDART_VERSION / 1000) + "." + std::to_string(CUDART_VERSION % 1000 / 10);
    if (!WhyNoGpu().empty()) return;  // No GPU would use them.
    if (Result<std::string> version = CublasLtVersion(); version.ok()) software->cublas = *version;
    if (nccl_version_) software->nccl = nccl_version_();
  }

  GpuTrouble TroubleOf(int ordinal) override {
    GpuTrouble trouble;
    if (const auto absence = seen_ ? std::nullopt : FindGpuAbsence()) {
      trouble.lost = absence->broken;
      trouble.evidence = absence->why;
      return trouble;
    }
    trouble.missing_bytes = TakeMissingDeviceBytes();
    const auto add = [&](const std::string& what) {
      trouble.evidence += (trouble.evidence.empty() ? "" : "; ") + what;
    };
    // After a sticky error, every other CUDA call returns this error too.
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) {
      cudaGetLastError();
      trouble.context_broken = true;
      add(std::string("CUDA: ") + cudaGetErrorString(error));
    }
    const Nvml* nvml = Management();
    const std::optional<int> index = nvml == nullptr ? std::nullopt : IndexOf(*nvml, ordinal);
    if (!index) return trouble;
    if (const std::string lost = nvml->WhyLost(*index); !lost.empty()) {
      trouble.lost = true;
      add("NVML: " + lost);
    }
    // This process is listed too, unless others left no room for its context.
    const bool on_list = error != cudaErrorDevicesUnavailable && error != cudaErrorMemoryAllocation;
    const size_t mine = on_list ? 1 : 0;
    if (const auto processes = nvml->ComputeProcesses(*index);
        processes && processes->size() > mine) {
      trouble.other_processes = static_cast<int>(processes->size() - mine);
      trouble.other_bytes = HeldByOthers(*processes, mine);
      std::string list;
      for (const NvmlProcess& process : *processes) list += " " + std::to_string(process.pid);
      add("processes on the GPU:" + list);
    }
    return trouble;
  }

  Result<std::vector<std::string>> KernelNames(int ordinal,
                                               const std::function<Status()>& iterate) override {
    return RecordKernelNames(ordinal, iterate);
  }

  Result<CounterReport> HardwareCounters(int ordinal, int64_t iterations,
                                         const std::function<Status()>& iterate) override {
    return ReadHardwareCounters(ordinal, iterations, iterate);
  }

  Result<CounterReport> MonitorDuring(int ordinal, const std::function<Status()>& work) override {
    const Nvml* nvml = Management();
    const std::optional<int> index = nvml == nullptr ? std::nullopt : IndexOf(*nvml, ordinal);
    if (!index) return NotFound("NVML does not know this GPU", Reason::kNoNvml);
    ASSAY_ASSIGN_OR_RETURN(const NvmlUtilization seen, nvml->UtilizationDuring(*index, work));
    CounterReport report;
    report.sm_active = seen.sm_active;
    report.dram_throughput = seen.dram_utilization;
    report.tensor_pipe_active = seen.tensor_active;
    report.achieved_occupancy = seen.occupancy;
    return report;
  }

  std::unique_ptr<ConditionsSampler> NewSampler(int ordinal) override {
    const Nvml* nvml = Management();
    if (nvml == nullptr) return std::make_unique<BlindSampler>();
    const std::optional<int> index = IndexOf(*nvml, ordinal);
    if (!index) return std::make_unique<BlindSampler>();
    const int number = *index;
    return NewNvmlSampler({[nvml, number] { return nvml->Sample(number); },
                           [nvml, number] { return nvml->ComputeProcesses(number); }});
  }

  Result<double> MeasureCeiling(int ordinal, const std::string& kind) override {
    ASSAY_RETURN_IF_ERROR(UseGpu(ordinal).status());
    return ProbeCeiling(kind);
  }

 private:
  LocalGpu Describe(int ordinal, const cudaDeviceProp& properties) {
    LocalGpu gpu;
    gpu.ordinal = ordinal;
    gpu.name = properties.name;
    gpu.uuid = UuidText(properties.uuid);
    std::array<char, 32> bus_id{};
    if (cudaDeviceGetPCIBusId(bus_id.data(), bus_id.size(), ordinal) == cudaSuccess) {
      gpu.pci_bus_id = bus_id.data();
    } else {
      cudaGetLastError();
    }
    gpu.memory_bytes = static_cast<int64_t>(properties.totalGlobalMem);
    gpu.l2_bytes = properties.l2CacheSize;
    gpu.sm_count = properties.multiProcessorCount;
    gpu.compute_capability =
        std::to_string(properties.major) + "." + std::to_string(properties.minor);
    gpu.ecc_enabled = properties.ECCEnabled != 0;
    int kilohertz = 0;
    if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, ordinal) == cudaSuccess) {
      gpu.sm_clock_max_mhz = kilohertz * 1e-3;
    }
    const Nvml* nvml = Management();
    if (nvml == nullptr) return gpu;
    gpu.driver_version = nvml->DriverVersion().value_or("");
    if (const std::optional<int> index = nvml->FindByUuid(gpu.uuid)) {
      const NvmlGpu described = nvml->Describe(*index);
      gpu.power_limit_watts = described.power_limit_watts;
      gpu.nvlinks_active = described.nvlinks_active;
      if (described.sm_clock_max_mhz) gpu.sm_clock_max_mhz = *described.sm_clock_max_mhz;
    }
    return gpu;
  }

  // Returns NVML's index for the GPU with CUDA index `ordinal`. The two differ if
  // CUDA_VISIBLE_DEVICES is set. The result is cached, so it remains known even after the GPU is
  // lost.
  std::optional<int> IndexOf(const Nvml& nvml, int ordinal) {
    MutexLock lock(mutex_);
    const auto known = indices_.find(ordinal);
    if (known != indices_.end()) return known->second;
    const std::optional<int> index = nvml.FindByUuid(GpuUuid(ordinal));
    if (index) indices_[ordinal] = *index;
    return index;
  }

  // Returns NVML, which the first call opens, or null if the node has no NVML.
  const Nvml* Management() {
    MutexLock lock(mutex_);
    if (!opened_) {
      opened_ = true;
      if (auto nvml = Nvml::Open(nullptr); nvml.ok()) nvml_ = std::move(nvml).value();
    }
    return nvml_.get();
  }

  const std::function<std::optional<std::string>()> nccl_version_;
  // True once this process has seen a GPU. From then on, CUDA errors are attributed to a
  // benchmark rather than to a missing GPU.
  std::atomic<bool> seen_ = false;
  Mutex mutex_;
  bool opened_ ASSAY_GUARDED_BY(mutex_) = false;
  std::map<int, int> indices_ ASSAY_GUARDED_BY(mutex_);
  std::unique_ptr<Nvml> nvml_ ASSAY_GUARDED_BY(mutex_);  // Never changes once open.
};

}  // namespace

std::unique_ptr<GpuPlatform> NewCudaPlatform(
    std::function<std::optional<std::string>()> nccl_version) {
  return std::make_unique<CudaPlatform>(std::move(nccl_version));
}

}  // namespace assay
