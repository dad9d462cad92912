#include "kernels/cuda/frame/toolkit_library.h"

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "host/cuda_folders.h"

namespace assay {

Result<DynamicLibrary> OpenToolkitLibrary(const std::string& soname) {
  const CudaFolders places = FindCudaFolders(ASSAY_CUDA_LIBRARY_DIR, std::getenv);
  Result<DynamicLibrary> library =
      DynamicLibrary::Open(soname, places.folders, HowToInstallCudaLibrary(soname, CUDART_VERSION));
  if (library.ok()) return library;
  const Status& missing = library.status();
  return NotFound(missing.message() + "; searched the loader's folders, " + places.description,
                  missing.reason())
      .WithHint(missing.hint());
}

std::string MessageWithHint(const Status& status) {
  return status.hint().empty() ? status.message() : status.message() + ". To fix: " + status.hint();
}

}  // namespace assay
