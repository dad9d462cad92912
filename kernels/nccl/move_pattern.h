// Inputs of collectives that only move data, and the check of every element.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// Element i of rank r is a random bit pattern of its width, a function of seed, r and i;
// never all ones, which is what outputs are poisoned with.
struct MovePattern {
  uint64_t seed = 0;
  int64_t element_bytes = 4;  // 1, 2, 4 or 8.
};

// Writes rank `rank`'s elements from `first` on to `data`, `count` of them.
Status FillMoveInput(const MovePattern& pattern, int rank, int64_t first, int64_t count, void* data,
                     cudaStream_t stream);

// Compares `count` elements at `data` with rank `rank`'s from `first` on, bit for bit. Waits
// for `stream`.
Result<Verdict> CheckMoved(const MovePattern& pattern, int rank, int64_t first, int64_t count,
                           const void* data, cudaStream_t stream);

}  // namespace assay
