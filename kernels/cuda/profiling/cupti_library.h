// CUPTI, NVIDIA's profiling library, loaded on first use. Its activity records supply names of
// kernels, its range profiler hardware counters.
#pragma once

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstring>

#include "common/mutex.h"
#include "common/status.h"

namespace assay {

// The functions that Assay calls, with the types of the library's own headers.
struct Cupti {
  decltype(&cuptiGetResultString) get_result_string = nullptr;
  decltype(&cuptiFinalize) finalize = nullptr;
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) activity_register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) activity_enable = nullptr;
  decltype(&cuptiActivityDisable) activity_disable = nullptr;
  decltype(&cuptiActivityFlushAll) activity_flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) activity_get_next_record = nullptr;
  decltype(&cuptiDeviceGetChipName) device_get_chip_name = nullptr;
  decltype(&cuptiProfilerInitialize) profiler_initialize = nullptr;
  decltype(&cuptiProfilerDeInitialize) profiler_deinitialize = nullptr;
  decltype(&cuptiProfilerGetCounterAvailability) get_counter_availability = nullptr;
  decltype(&cuptiProfilerHostInitialize) host_initialize = nullptr;
  decltype(&cuptiProfilerHostDeinitialize) host_deinitialize = nullptr;
  decltype(&cuptiProfilerHostConfigAddMetrics) host_config_add_metrics = nullptr;
  decltype(&cuptiProfilerHostGetConfigImageSize) host_get_config_image_size = nullptr;
  decltype(&cuptiProfilerHostGetConfigImage) host_get_config_image = nullptr;
  decltype(&cuptiProfilerHostEvaluateToGpuValues) host_evaluate_to_gpu_values = nullptr;
  decltype(&cuptiRangeProfilerEnable) range_enable = nullptr;
  decltype(&cuptiRangeProfilerDisable) range_disable = nullptr;
  decltype(&cuptiRangeProfilerGetCounterDataSize) range_get_counter_data_size = nullptr;
  decltype(&cuptiRangeProfilerCounterDataImageInitialize) range_counter_data_image_initialize =
      nullptr;
  decltype(&cuptiRangeProfilerSetConfig) range_set_config = nullptr;
  decltype(&cuptiRangeProfilerStart) range_start = nullptr;
  decltype(&cuptiRangeProfilerStop) range_stop = nullptr;
  decltype(&cuptiRangeProfilerPushRange) range_push = nullptr;
  decltype(&cuptiRangeProfilerPopRange) range_pop = nullptr;
  decltype(&cuptiRangeProfilerDecodeData) range_decode_data = nullptr;
};

// Return the library, which the first call of either loads and nothing unloads. Thread-safe.
// NOT_FOUND (LIBRARY_MISSING) if the node has no CUPTI, or one without a required function.
// Activity records need the functions up to activity_get_next_record, and the others may be null;
// the profilers of counters need all.
Result<const Cupti*> LoadCuptiActivity();
Result<const Cupti*> LoadCuptiProfilers();

// Converts a status of CUPTI. CUPTI_SUCCESS is OK; FAILED_PRECONDITION (COUNTERS_NOT_PERMITTED) if
// the driver restricts counters to administrators. All others are INTERNAL (CUPTI_ERROR) with
// CUPTI's description, the expression, file and line.
Status CuptiStatus(const Cupti& cupti, CUptiResult result, const char* expression, const char* file,
                   int line);

// ASSAY_CUPTI(cupti, range_stop(...)) calls cupti.range_stop(...) and returns on an error.
#define ASSAY_CUPTI(cupti, call) \
  ASSAY_RETURN_IF_ERROR(::assay::CuptiStatus((cupti), (cupti).call, #call, __FILE__, __LINE__))

// Returns a zeroed parameter block of CUPTI's profilers with its size, which its header defines as
// the macro Params##_STRUCT_SIZE.
template <typename Params>
Params CuptiParams(size_t size) {
  Params params;
  std::memset(&params, 0, sizeof params);
  params.structSize = size;
  return params;
}
#define ASSAY_CUPTI_PARAMS(Params, name) \
  Params name = ::assay::CuptiParams<Params>(Params##_STRUCT_SIZE)

// Must be held while using the library, which has one state per process.
Mutex& CuptiMutex();

// Attaches CUPTI until destruction. Afterwards kernels launch at full speed again (attached but
// idle, CUPTI costs 10% of a launch). Requires CuptiMutex(). A CUDA graph that was launched while
// kernels were recorded must not be launched between the end of the recording and the detachment,
// because that breaks the context.
class CuptiAttachment {
 public:
  explicit CuptiAttachment(const Cupti& cupti) : cupti_(cupti) {}
  CuptiAttachment(const CuptiAttachment&) = delete;
  CuptiAttachment& operator=(const CuptiAttachment&) = delete;
  // No CUDA work may be in flight.
  ~CuptiAttachment() { cupti_.finalize(); }

 private:
  const Cupti& cupti_;
};

}  // namespace assay
