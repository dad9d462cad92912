// The loop over k of matmul_register and matmul_mma: slices of A and B pass through a ring of
// stages in shared memory, and fragments of a slice through registers.
#pragma once

#include "kernels/cuda/frame/async_copy.cuh"

namespace assay {

// Calls `multiply` with every fragment of `slices` slices, kSteps per slice. `loader` copies the
// next slice into a stage. While a slice is multiplied, kStages - 1 more are being copied, and
// while a fragment is multiplied, the next one is loaded. `row` and `column` are passed to
// Fragment::Load.
template <int kStages, int kSteps, typename Fragment, typename Stage, typename Loader,
          typename Multiply>
__device__ __forceinline__ void ForEachFragment(Stage* stages, Loader& loader, int slices, int row,
                                                int column, const Multiply& multiply) {
#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) {
    if (i < slices) loader.Load(&stages[i]);
    CommitCopies();
  }
  WaitForCopies<kStages - 2>();
  __syncthreads();
  Fragment fragments[2];
  fragments[0].Load(stages[0], 0, row, column);
  int current = 0;
  for (int slice = 0; slice < slices; ++slice) {
    // Fills the previous stage, whose last fragments were loaded before the last barrier.
    if (slice + kStages - 1 < slices) {
      loader.Load(&stages[current == 0 ? kStages - 1 : current - 1]);
    }
    CommitCopies();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      if (step + 1 < kSteps) {
        fragments[(step + 1) % 2].Load(stages[current], step + 1, row, column);
      } else {
        current = current + 1 == kStages ? 0 : current + 1;
        WaitForCopies<kStages - 2>();
        __syncthreads();
        if (slice + 1 < slices) fragments[0].Load(stages[current], 0, row, column);
      }
      multiply(fragments[step % 2]);
    }
  }
}

}  // namespace assay
