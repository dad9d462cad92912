#include "kernels/cuda/profiling/cupti_library.h"

#include <cuda_runtime_api.h>

#include <string>

#include "kernels/call_site.h"

namespace assay {
namespace {

Status LoadActivity(const DynamicLibrary& library, Cupti* table) {
  ASSAY_CUPTI_ACTIVITY_FUNCTIONS(ASSAY_LOAD_FUNCTION)
  return Status::Ok();
}

Status LoadProfilers(const DynamicLibrary& library, Cupti* table) {
  ASSAY_CUPTI_PROFILER_FUNCTIONS(ASSAY_LOAD_FUNCTION)
  return Status::Ok();
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
