// Verifies a matrix product much faster than computing it, which takes O(m n k) operations.
#pragma once

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// Verifies C = A B for row-major A (m x k), B (k x n) and C (m x n). Instead of computing A B,
// compares C x with A (B x) in fp64, where x is a vector of random signs (Freivalds 1979). Each row
// is compared separately, because a norm over all rows would hide a single wrong element. A NaN
// fails.
//
// The tolerance allows for the rounding errors of T. For fp32 with k = n = 16384, a single wrong
// element is detected if it is off by at least 0.4% of the typical size of an element.
template <typename T>
Verdict VerifyProduct(int64_t m, int64_t n, int64_t k, const T* a, const T* b, const T* c,
                      uint64_t seed);

}  // namespace assay
