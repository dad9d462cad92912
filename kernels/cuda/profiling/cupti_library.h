// Loads CUPTI, NVIDIA's profiling library, on first use. Its activity records provide the names of
// kernels, and its range profiler provides hardware counters.
#pragma once

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <cstring>

#include "common/mutex.h"
#include "common/status.h"
#include "kernels/cuda/frame/toolkit_library.h"

namespace assay {

// The CUPTI functions that Assay calls. Recording kernel names needs only the first list; reading
// hardware counters needs both.
#define ASSAY_CUPTI_ACTIVITY_FUNCTIONS(X)                        \
  X(get_result_string, cuptiGetResultString)                     \
  X(finalize, cuptiFinalize)                                     \
  X(subscribe, cuptiSubscribe)                                   \
  X(unsubscribe, cuptiUnsubscribe)                               \
  X(activity_register_callbacks, cuptiActivityRegisterCallbacks) \
  X(activity_enable, cuptiActivityEnable)                        \
  X(activity_disable, cuptiActivityDisable)                      \
  X(activity_flush_all, cuptiActivityFlushAll)                   \
  X(activity_get_next_record, cuptiActivityGetNextRecord)
#define ASSAY_CUPTI_PROFILER_FUNCTIONS(X)                                              \
  X(device_get_chip_name, cuptiDeviceGetChipName)                                      \
  X(profiler_initialize, cuptiProfilerInitialize)                                      \
  X(profiler_deinitialize, cuptiProfilerDeInitialize)                                  \
  X(get_counter_availability, cuptiProfilerGetCounterAvailability)                     \
  X(host_initialize, cuptiProfilerHostInitialize)                                      \
  X(host_deinitialize, cuptiProfilerHostDeinitialize)                                  \
  X(host_config_add_metrics, cuptiProfilerHostConfigAddMetrics)                        \
  X(host_get_config_image_size, cuptiProfilerHostGetConfigImageSize)                   \
  X(host_get_config_image, cuptiProfilerHostGetConfigImage)                            \
  X(host_evaluate_to_gpu_values, cuptiProfilerHostEvaluateToGpuValues)                 \
  X(range_enable, cuptiRangeProfilerEnable)                                            \
  X(range_disable, cuptiRangeProfilerDisable)                                          \
  X(range_get_counter_data_size, cuptiRangeProfilerGetCounterDataSize)                 \
  X(range_counter_data_image_initialize, cuptiRangeProfilerCounterDataImageInitialize) \
  X(range_set_config, cuptiRangeProfilerSetConfig)                                     \
  X(range_start, cuptiRangeProfilerStart)                                              \
  X(range_stop, cuptiRangeProfilerStop)                                                \
  X(range_push, cuptiRangeProfilerPushRange)                                           \
  X(range_pop, cuptiRangeProfilerPopRange)                                             \
  X(range_decode_data, cuptiRangeProfilerDecodeData)
struct Cupti {
  ASSAY_CUPTI_ACTIVITY_FUNCTIONS(ASSAY_FUNCTION_MEMBER)
  ASSAY_CUPTI_PROFILER_FUNCTIONS(ASSAY_FUNCTION_MEMBER)
};

// Return the functions of the CUPTI library, which is loaded on the first call and never unloaded.
// Both return NOT_FOUND (LIBRARY_MISSING) if CUPTI is not installed or its version lacks a required
// function. LoadCuptiActivity() requires only the activity functions, so the profiler functions may
// be null. Thread-safe.
Result<const Cupti*> LoadCuptiActivity();
Result<const Cupti*> LoadCuptiProfilers();

// Converts a CUPTI result to a Status with one of these codes:
// - OK for CUPTI_SUCCESS;
// - FAILED_PRECONDITION (COUNTERS_NOT_PERMITTED) if the driver restricts counters to
//   administrators;
// - INTERNAL (CUPTI_ERROR) otherwise.
// The message contains CUPTI's description, the expression, the file and the line.
Status CuptiStatus(const Cupti& cupti, CUptiResult result, const char* expression, const char* file,
                   int line);

// ASSAY_CUPTI(cupti, range_stop(...)) calls cupti.range_stop(...). If the call fails, returns the
// error from the enclosing function.
#define ASSAY_CUPTI(cupti, call) \
  ASSAY_RETURN_IF_ERROR(::assay::CuptiStatus((cupti), (cupti).call, #call, __FILE__, __LINE__))

// Returns a CUPTI parameter struct that is zero except for its structSize member. CUPTI's headers
// define the size of a struct Params as the macro Params##_STRUCT_SIZE.
template <typename Params>
Params CuptiParams(size_t size) {
  Params params;
  std::memset(&params, 0, sizeof params);
  params.structSize = size;
  return params;
}
#define ASSAY_CUPTI_PARAMS(Params, name) \
  Params name = ::assay::CuptiParams<Params>(Params##_STRUCT_SIZE)

// Returns the mutex that must be held while CUPTI is used, because CUPTI has one state per process.
Mutex& CuptiMutex();

// A guard whose destructor detaches CUPTI from the process. While CUPTI is attached, kernel
// launches take 10% longer, even if CUPTI is idle. The caller must hold CuptiMutex(). A CUDA graph
// launched during a recording must not be launched again until CUPTI is detached, because that
// would break the CUDA context.
class CuptiAttachment {
 public:
  explicit CuptiAttachment(const Cupti& cupti) : cupti_(cupti) {}
  CuptiAttachment(const CuptiAttachment&) = delete;
  CuptiAttachment& operator=(const CuptiAttachment&) = delete;
  // Detaches CUPTI. All CUDA work must have completed.
  ~CuptiAttachment() { cupti_.finalize(); }

 private:
  const Cupti& cupti_;
};

}  // namespace assay
