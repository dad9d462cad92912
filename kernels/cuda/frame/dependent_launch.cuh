// Launches and synchronizes kernels that overlap with their neighbors in the stream.
#pragma once

#include "kernels/cuda/frame/cuda_check.h"

namespace assay {

// Functions that let a kernel start before the previous kernel in its stream has finished
// (programmatic dependent launch, on Hopper and newer GPUs). AllowNext() lets the next kernel start
// on free multiprocessors. WaitForPrevious() blocks until the previous kernel has completed and its
// writes are visible. On older GPUs, both do nothing.
__device__ inline void AllowNext() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ inline void WaitForPrevious() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Launches `kernel`. If `overlap` is true, which requires compute capability 9.0, the kernel may
// start before the previous kernel in the stream has finished. It must then call WaitForPrevious()
// before using the previous kernel's results.
template <typename... Parameters, typename... Values>
Status LaunchOverlapping(void (*kernel)(Parameters...), dim3 grid, int threads, int shared_bytes,
                         bool overlap, cudaStream_t stream, const Values&... values) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.dynamicSmemBytes = static_cast<size_t>(shared_bytes);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = overlap ? 1 : 0;
  ASSAY_CUDA(cudaLaunchKernelEx(&config, kernel, values...));
  return Status::Ok();
}

}  // namespace assay
