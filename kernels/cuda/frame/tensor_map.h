// Tensor maps: descriptions of arrays in device memory for Hopper's copy engine (TMA).
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "common/status.h"

namespace assay {

// Encodes the map of an array that is copied in boxes whose rows of 128 bytes are swizzled. Parts
// of a box beyond the array arrive as zeros and are not written. `sizes` and `box` are elements per
// dimension, the contiguous dimension first. `strides` are the bytes between elements in every
// other dimension, multiples of 16. `promotion` is the minimum that a miss loads into the L2 cache.
// Returns Unsupported() with a driver older than CUDA 12; INTERNAL if the driver refuses.
Result<CUtensorMap> EncodeTensorMap(
    CUtensorMapDataType type, const void* data, const std::vector<int64_t>& sizes,
    const std::vector<int64_t>& strides, const std::vector<int64_t>& box,
    CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B);

}  // namespace assay
