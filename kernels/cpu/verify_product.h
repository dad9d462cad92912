// Whether a matrix product is right, in a time that does not grow as m n k.
#pragma once

#include <cstdint>

#include "kernels/benchmark.h"

namespace assay {

// Compares C x with A (B x) in fp64 for a vector x of random signs (Freivalds
// 1979): every element of C enters with weight one, so a single wrong one shows.
// Row-major A (m x k), B (k x n), C (m x n). The error is relative in the 2-norm;
// the tolerance 8 u sqrt(k), u the unit roundoff of T: rounding errors of a sum of
// k terms grow as sqrt(k). A NaN anywhere fails.
template <typename T>
Verdict VerifyProduct(int64_t m, int64_t n, int64_t k, const T* a, const T* b, const T* c,
                      uint64_t seed);

}  // namespace assay
