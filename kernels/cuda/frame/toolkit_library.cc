#include "kernels/cuda/frame/toolkit_library.h"

namespace assay {

Result<DynamicLibrary> OpenToolkitLibrary(const std::string& soname) {
  return DynamicLibrary::Open(
      soname,
      {ASSAY_CUDA_LIBRARY_DIR, "/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64"},
      "the CUDA toolkit's libraries");
}

}  // namespace assay
