// Verifies a matrix product in less time than computing it, which takes O(m n k).
#pragma once

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// Checks C = A B with row-major A (m x k), B (k x n), C (m x n) by comparing C x with A (B x) in
// fp64, where x is a vector of random signs (Freivalds 1979). The error is that of the worst row i,
// relative to the usual size of its sum, |a_i| |B| / sqrt(k). A norm over all rows would hide a
// single wrong element. The tolerance is 4 (u sqrt(k) + u64 sqrt(n)), where u and u64 are the unit
// roundoffs of T and of fp64; rounding errors are about 0.4 u sqrt(k). An element that is off by 4
// u sqrt(k n) of its usual size is found (0.4% at k = n = 16384 in fp32). A NaN fails.
template <typename T>
Verdict VerifyProduct(int64_t m, int64_t n, int64_t k, const T* a, const T* b, const T* c,
                      uint64_t seed);

}  // namespace assay
