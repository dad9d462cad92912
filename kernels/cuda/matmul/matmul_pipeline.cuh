// The loop over k shared by matmul_register and matmul_mma. It copies slices of A and B to a ring
// of stages in shared memory, and fragments of each slice from there to registers.
#pragma once

#include "kernels/cuda/frame/async_copy.cuh"

namespace assay {

// Calls `multiply` for every fragment of A and B. A slice of A and B, which fills one stage,
// consists of kSteps fragments. While one slice is multiplied, `loader` copies the next kStages - 1
// slices to shared memory. While one fragment is multiplied, the next is loaded into registers.
// `row` and `column` locate the first element of the warp or thread in the block's tile.
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
