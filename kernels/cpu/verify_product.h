// Verification of a matrix product in less time than m n k.
#pragma once

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// Compares C x with A (B x) in fp64 for a vector x of random signs (Freivalds 1979). Every element
// of C has weight one, so a single wrong element is found. Row-major A (m x k), B (k x n), C (m x
// n).
//
// The error is that of the worst row, relative to |a_i| |B| / sqrt(k), which is the usual size of
// the row's signed sum. A norm over all rows would hide a single element. The tolerance is 4 (u
// sqrt(k) + u64 sqrt(n)), where u is the unit roundoff of T and u64 that of the reference: rounding
// errors of a sum of k terms grow with sqrt(k), to about 0.4 u sqrt(k). The check finds an element
// that is off by 4 u sqrt(k n) of its usual size, 0.4% at k = n = 16384 in fp32. A NaN anywhere
// fails.
template <typename T>
Verdict VerifyProduct(int64_t m, int64_t n, int64_t k, const T* a, const T* b, const T* c,
                      uint64_t seed);

}  // namespace assay
