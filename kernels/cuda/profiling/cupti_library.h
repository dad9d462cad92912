// CUPTI, NVIDIA's library for profilers, loaded on first use: names of kernels by its
// activity records, hardware counters by its range profiler.
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

// The functions that Assay calls, typed by the library's own headers.
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

// The library, loaded by the first caller of either; lives as long as the program.
// Thread-safe. NOT_FOUND (LIBRARY_MISSING) on a node without it, or with one that lacks a
// function. Activity records need those up to activity_get_next_record: others may be null.
// The profilers of counters need all.
Result<const Cupti*> LoadCuptiActivity();
Result<const Cupti*> LoadCuptiProfilers();

// OK for CUPTI_SUCCESS; else FAILED_PRECONDITION (COUNTERS_NOT_PERMITTED) where the
// driver keeps counters for administrators, INTERNAL (CUPTI_ERROR) for everything
// else, with CUPTI's words, the expression, file and line.
Status CuptiStatus(const Cupti& cupti, CUptiResult result, const char* expression, const char* file,
                   int line);

// ASSAY_CUPTI(cupti, range_stop(...)) calls cupti.range_stop(...) and returns on an error.
#define ASSAY_CUPTI(cupti, call) \
  ASSAY_RETURN_IF_ERROR(::assay::CuptiStatus((cupti), (cupti).call, #call, __FILE__, __LINE__))

// A parameter block of CUPTI's profilers: zeroed, and with its size, which the macro
// Params##_STRUCT_SIZE of its header says.
template <typename Params>
Params CuptiParams(size_t size) {
  Params params;
  std::memset(&params, 0, sizeof params);
  params.structSize = size;
  return params;
}
#define ASSAY_CUPTI_PARAMS(Params, name) \
  Params name = ::assay::CuptiParams<Params>(Params##_STRUCT_SIZE)

// Held by who uses the library: it has one state for the process.
Mutex& CuptiMutex();

// CUPTI in use until destruction: then it detaches from the process, and kernels launch
// as fast as if it had never been there (attached but idle it costs 10% of a launch).
// Needs CuptiMutex(). A CUDA graph that was launched while kernels were recorded must not
// be launched between the end of the recording and the detachment: the context breaks.
class CuptiAttachment {
 public:
  explicit CuptiAttachment(const Cupti& cupti) : cupti_(cupti) {}
  CuptiAttachment(const CuptiAttachment&) = delete;
  CuptiAttachment& operator=(const CuptiAttachment&) = delete;
  // No CUDA work may be under way.
  ~CuptiAttachment() { cupti_.finalize(); }

 private:
  const Cupti& cupti_;
};

}  // namespace assay
