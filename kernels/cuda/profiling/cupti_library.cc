#include "kernels/cuda/profiling/cupti_library.h"

#include <cuda_runtime_api.h>

#include <string>

#include "kernels/call_site.h"
#include "kernels/cuda/frame/toolkit_library.h"

namespace assay {
namespace {

Status LoadActivity(const DynamicLibrary& library, Cupti* cupti) {
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiGetResultString", &cupti->get_result_string));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiFinalize", &cupti->finalize));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiSubscribe", &cupti->subscribe));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiUnsubscribe", &cupti->unsubscribe));
  ASSAY_RETURN_IF_ERROR(
      library.Load("cuptiActivityRegisterCallbacks", &cupti->activity_register_callbacks));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiActivityEnable", &cupti->activity_enable));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiActivityDisable", &cupti->activity_disable));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiActivityFlushAll", &cupti->activity_flush_all));
  return library.Load("cuptiActivityGetNextRecord", &cupti->activity_get_next_record);
}

Status LoadProfilerHost(const DynamicLibrary& library, Cupti* cupti) {
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiDeviceGetChipName", &cupti->device_get_chip_name));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiProfilerInitialize", &cupti->profiler_initialize));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiProfilerDeInitialize", &cupti->profiler_deinitialize));
  ASSAY_RETURN_IF_ERROR(
      library.Load("cuptiProfilerGetCounterAvailability", &cupti->get_counter_availability));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiProfilerHostInitialize", &cupti->host_initialize));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiProfilerHostDeinitialize", &cupti->host_deinitialize));
  ASSAY_RETURN_IF_ERROR(
      library.Load("cuptiProfilerHostConfigAddMetrics", &cupti->host_config_add_metrics));
  ASSAY_RETURN_IF_ERROR(
      library.Load("cuptiProfilerHostGetConfigImageSize", &cupti->host_get_config_image_size));
  ASSAY_RETURN_IF_ERROR(
      library.Load("cuptiProfilerHostGetConfigImage", &cupti->host_get_config_image));
  return library.Load("cuptiProfilerHostEvaluateToGpuValues", &cupti->host_evaluate_to_gpu_values);
}

Status LoadRangeProfiler(const DynamicLibrary& library, Cupti* cupti) {
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiRangeProfilerEnable", &cupti->range_enable));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiRangeProfilerDisable", &cupti->range_disable));
  ASSAY_RETURN_IF_ERROR(
      library.Load("cuptiRangeProfilerGetCounterDataSize", &cupti->range_get_counter_data_size));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiRangeProfilerCounterDataImageInitialize",
                                     &cupti->range_counter_data_image_initialize));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiRangeProfilerSetConfig", &cupti->range_set_config));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiRangeProfilerStart", &cupti->range_start));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiRangeProfilerStop", &cupti->range_stop));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiRangeProfilerPushRange", &cupti->range_push));
  ASSAY_RETURN_IF_ERROR(library.Load("cuptiRangeProfilerPopRange", &cupti->range_pop));
  return library.Load("cuptiRangeProfilerDecodeData", &cupti->range_decode_data);
}

Status LoadProfilers(const DynamicLibrary& library, Cupti* cupti) {
  ASSAY_RETURN_IF_ERROR(LoadProfilerHost(library, cupti));
  return LoadRangeProfiler(library, cupti);
}

struct Loaded {
  Cupti cupti;
  Status profilers;  // OK if it has the profilers' functions too.
};

Result<Loaded> Load() {
  ASSAY_ASSIGN_OR_RETURN(
      const DynamicLibrary library,
      OpenToolkitLibrary("libcupti.so." + std::to_string(CUDART_VERSION / 1000)));
  Loaded loaded;
  ASSAY_RETURN_IF_ERROR(LoadActivity(library, &loaded.cupti));
  loaded.profilers = LoadProfilers(library, &loaded.cupti);
  return loaded;
}

const Result<Loaded>& LoadOnce() {
  static const Result<Loaded> loaded = Load();
  return loaded;
}

}  // namespace

Result<const Cupti*> LoadCuptiActivity() {
  const Result<Loaded>& loaded = LoadOnce();
  if (!loaded.ok()) return loaded.status();
  return &loaded->cupti;
}

Result<const Cupti*> LoadCuptiProfilers() {
  const Result<Loaded>& loaded = LoadOnce();
  if (!loaded.ok()) return loaded.status();
  ASSAY_RETURN_IF_ERROR(loaded->profilers);
  return &loaded->cupti;
}

Mutex& CuptiMutex() {
  static Mutex mutex;
  return mutex;
}

Status CuptiStatus(const Cupti& cupti, CUptiResult result, const char* expression, const char* file,
                   int line) {
  if (result == CUPTI_SUCCESS) return Status::Ok();
  const char* words = nullptr;
  if (cupti.get_result_string(result, &words) != CUPTI_SUCCESS || words == nullptr) {
    words = "an unknown error";
  }
  std::string message = std::string(words) + " (" + std::to_string(result) + ") from CUPTI's " +
                        CallSite(expression, file, line);
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
      result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES) {
    return FailedPrecondition(
        "the driver lets only administrators read hardware counters: " + message,
        Reason::kCountersNotPermitted);
  }
  return Internal(std::move(message), Reason::kCuptiError);
}

}  // namespace assay
