// Tensor maps: descriptions of arrays in device memory for Hopper's copy engine (TMA).
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "common/status.h"

namespace assay {

// Returns a tensor map, which describes an array to the copy engine (TMA). The engine copies
// boxes of the array with rows of 128 bytes, which are swizzled in shared memory. Loads fill any
// part of a box outside the array with zeros; stores skip it.
// - `sizes`, `box`: elements per dimension, the contiguous dimension first.
// - `strides`: bytes between neighboring elements in each dimension except the contiguous one. They
//   must be multiples of 16.
// - `promotion`: minimum number of bytes that a miss loads into the L2 cache.
// Returns Unsupported() with a driver older than CUDA 12, and INTERNAL if the driver fails.
Result<CUtensorMap> EncodeTensorMap(
    CUtensorMapDataType type, const void* data, const std::vector<int64_t>& sizes,
    const std::vector<int64_t>& strides, const std::vector<int64_t>& box,
    CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B);

}  // namespace assay
