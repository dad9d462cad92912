// Generates the inputs of collectives that only move data, and checks their outputs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// The input data for collectives that only move data. Each element is a random bit pattern
// determined by the seed, the rank and the element's index. To expose elements that are never
// written, outputs are filled with 0xff bytes beforehand, and no input element has all bits set.
struct MovePattern {
  uint64_t seed = 0;
  int64_t element_bytes = 4;  // 1, 2, 4 or 8.
};

// Writes `count` elements of rank `rank`'s input, starting at element `first`, to `data`.
Status FillMoveInput(const MovePattern& pattern, int rank, int64_t first, int64_t count, void* data,
                     cudaStream_t stream);

// Compares `count` elements at `data`, bit by bit, with rank `rank`'s input, starting at element
// `first`. Waits for `stream`.
Result<Verdict> CheckMoved(const MovePattern& pattern, int rank, int64_t first, int64_t count,
                           const void* data, cudaStream_t stream);

}  // namespace assay
