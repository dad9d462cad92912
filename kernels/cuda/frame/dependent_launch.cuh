// Synchronisation of kernels that overlap with their neighbours in the stream.
#pragma once

namespace assay {

// AllowNext lets the stream's next kernel start where this one leaves room, if it was launched to
// do so (programmatic dependent launch). WaitForPrevious in that kernel returns once the previous
// kernel has completed. Both do nothing before Hopper.
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
