// Tensor maps: how Hopper's copy engine (TMA) sees arrays in device memory.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <vector>

#include "common/status.h"

namespace assay {

// The map of an array, to be copied in boxes whose rows of 128 bytes are swizzled; what of
// a box lies beyond the array arrives as zeros and is not written. `sizes` and `box` are
// elements in each dimension, that of neighbours in memory first; `strides` are the bytes
// from one element to the next in every dimension but that first one, multiples of 16.
// `promotion`: what a miss brings into the L2 cache at least.
// Unsupported() with a driver older than CUDA 12; INTERNAL for what the driver refuses.
Result<CUtensorMap> EncodeTensorMap(
    CUtensorMapDataType type, const void* data, const std::vector<int64_t>& sizes,
    const std::vector<int64_t>& strides, const std::vector<int64_t>& box,
    CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B);

}  // namespace assay
