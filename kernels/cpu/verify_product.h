// Verifies a matrix product much faster than computing it, which takes O(m n k) operations.
#pragma once

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// Verifies C = A B for row-major A (m x k), B (k x n) and C (m x n). Compares C x with A (B x) in
// fp64, where x is a vector of random signs (Freivalds 1979). Each row i is compared separately,
// because a norm over all rows would hide a single wrong element. A row's error is divided by |a_i|
// |B| / sqrt(k), the typical size of the row's sum. The quotient must not exceed 4 (u sqrt(k) + u64
// sqrt(n)), where u and u64 are the unit roundoffs of T and fp64. Correct results have errors of
// about 0.4 u sqrt(k). A single wrong element is found if it is off by at least 4 u sqrt(k n) of
// its typical size, which is 0.4% for fp32 with k = n = 16384. A NaN fails.
template <typename T>
Verdict VerifyProduct(int64_t m, int64_t n, int64_t k, const T* a, const T* b, const T* c,
                      uint64_t seed);

}  // namespace assay
