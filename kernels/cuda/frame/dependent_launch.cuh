// Synchronization of kernels that overlap with their neighbors in the stream.
#pragma once

namespace assay {

// Let a kernel start before the previous kernel of its stream has ended (programmatic dependent
// launch, on Hopper and newer GPUs). AllowNext() lets the next kernel start on free
// multiprocessors. WaitForPrevious() blocks until the previous kernel has completed and its writes
// are visible. On older GPUs both functions do nothing.
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

}  // namespace assay
