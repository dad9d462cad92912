// What a kernel that was launched to overlap with its neighbours in the stream says.
#pragma once

namespace assay {

// Lets the next kernel of the stream begin where this one leaves room, if it was
// launched to (programmatic dependent launch); WaitForPrevious in that kernel returns
// once the previous kernel is complete. Neither does anything before Hopper.
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
