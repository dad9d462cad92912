// Whether a matrix product is right, in a time that does not grow as m n k.
#pragma once

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// Compares C x with A (B x) in fp64 for a vector x of random signs (Freivalds
// 1979): every element of C enters with weight one, so a single wrong one shows.
// Row-major A (m x k), B (k x n), C (m x n).
//
// The error is that of the worst row, over |a_i| |B| / sqrt(k), the size that the row's
// signed sum has for values of random sign; a norm over all rows would hide one element
// among many. The tolerance is 4 (u sqrt(k) + u64 sqrt(n)), u the unit roundoff of T and
// u64 that of the reference: rounding errors of a sum of k terms grow as sqrt(k), to about
// 0.4 u sqrt(k). So an element shows that is off by 4 u sqrt(k n) of its usual size: at
// k = n = 16384 in fp32 by 0.4%. A NaN anywhere fails.
template <typename T>
Verdict VerifyProduct(int64_t m, int64_t n, int64_t k, const T* a, const T* b, const T* c,
                      uint64_t seed);

}  // namespace assay
