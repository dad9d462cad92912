#include "kernels/cuda/profiling/cupti_kernels.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/profiling/cupti_library.h"
#include "kernels/cuda/profiling/kernel_name.h"

namespace assay {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kBufferAlignment = 8;  // Required by CUPTI for records.

struct Launch {
  uint64_t start_ns = 0;
  std::string symbol;
};

// The kernel launches that CUPTI has recorded so far. They are stored globally because CUPTI passes
// no user data to its callbacks, which run on its own threads.
struct Collected {
  Mutex mutex;
  const Cupti* cupti ASSAY_GUARDED_BY(mutex) = nullptr;
  std::vector<Launch> launches ASSAY_GUARDED_BY(mutex);
};

Collected& TheCollected() {
  static Collected collected;
  return collected;
}

void CUPTIAPI GiveBuffer(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;  // As many as fit.
}

void CUPTIAPI TakeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  Collected& collected = TheCollected();
  {
    MutexLock lock(collected.mutex);
    CUpti_Activity* record = nullptr;
    while (collected.cupti->activity_get_next_record(buffer, valid_bytes, &record) ==
           CUPTI_SUCCESS) {
      if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      if (kernel->name != nullptr) collected.launches.push_back({kernel->start, kernel->name});
    }
  }
  std::free(buffer);
}

Status Record(const Cupti& cupti, const std::function<Status()>& iterate) {
  constexpr CUpti_ActivityKind kKernels = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  ASSAY_CUPTI(cupti, activity_register_callbacks(GiveBuffer, TakeBuffer));
  ASSAY_CUPTI(cupti, activity_enable(kKernels));
  const Status ran = iterate();
  const CUptiResult flushed = cupti.activity_flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  ASSAY_CUPTI(cupti, activity_disable(kKernels));
  ASSAY_RETURN_IF_ERROR(ran);
  return CuptiStatus(cupti, flushed, "cuptiActivityFlushAll", __FILE__, __LINE__);
}

std::vector<std::string> UniqueNames(std::vector<Launch> launches) {
  std::stable_sort(launches.begin(), launches.end(),
                   [](const Launch& a, const Launch& b) { return a.start_ns < b.start_ns; });
  std::vector<std::string> names;
  for (const Launch& launch : launches) {
    std::string name = ShortKernelName(launch.symbol);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> RecordKernelNames(int ordinal,
                                                   const std::function<Status()>& iterate) {
  ASSAY_ASSIGN_OR_RETURN(const Cupti* cupti, LoadCuptiActivity());
  ASSAY_RETURN_IF_ERROR(UseGpu(ordinal).status());
  Collected& collected = TheCollected();
  MutexLock alone(CuptiMutex());
  const CuptiAttachment attachment(*cupti);
  {
    MutexLock lock(collected.mutex);
    collected.cupti = cupti;
    collected.launches.clear();
  }
  const Status recorded = Record(*cupti, iterate);
  ASSAY_CUDA(cudaDeviceSynchronize());
  ASSAY_RETURN_IF_ERROR(recorded);
  MutexLock lock(collected.mutex);
  return UniqueNames(std::exchange(collected.launches, {}));
}

}  // namespace assay
