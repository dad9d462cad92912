#include "kernels/cuda/gemm/cublas_lt.h"

#include "kernels/benchmark.h"
#include "kernels/call_site.h"
#include "kernels/cuda/frame/device.h"

namespace assay {
namespace {

Result<CublasLt> Load() {
  ASSAY_ASSIGN_OR_RETURN(const DynamicLibrary library,
                         OpenToolkitLibrary("libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR)));
  CublasLt lt;
  CublasLt* const table = &lt;
  ASSAY_CUBLAS_LT_FUNCTIONS(ASSAY_LOAD_FUNCTION)
  return lt;
}

}  // namespace

Result<const CublasLt*> LoadCublasLt() {
  static const Result<CublasLt> loaded = Load();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

std::string WhyNoCublasLt() {
  if (std::string why = WhyNoGpu(); !why.empty()) return why;
  const Result<const CublasLt*> lt = LoadCublasLt();
  return lt.ok() ? "" : MessageWithHint(lt.status());
}

Result<std::string> CublasLtVersion() {
  ASSAY_ASSIGN_OR_RETURN(const CublasLt* lt, LoadCublasLt());
  const size_t version = lt->get_version();  // Encoded like CUBLAS_VERSION: 130102 is 13.1.2.
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Status CublasStatus(const CublasLt& lt, cublasStatus_t status, const char* expression,
                    const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return Status::Ok();
  std::string message =
      std::string(lt.get_status_name(status)) + " from cuBLAS: " + CallSite(expression, file, line);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return Unsupported(std::move(message));
  return Internal(std::move(message), Reason::kCublasError);
}

}  // namespace assay
