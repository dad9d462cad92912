// The BLAS library that the runner is linked with, if it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// "OpenBLAS 0.3.21"; absent without one.
std::optional<std::string> BlasVersion();

// Uses this many threads from now on, process-wide.
void SetBlasThreads(int threads);

// C = A B, row-major: A is m x k, B is k x n, C is m x n. Only if BlasVersion().
void BlasGemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c);
void BlasGemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c);

}  // namespace assay
