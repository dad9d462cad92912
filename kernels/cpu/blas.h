// The BLAS library, OpenBLAS. It is loaded by the first of these calls, not with the
// program: as it is loaded it starts a thread for every CPU, each of which asks for a
// buffer without end where the address space is limited, and fork() waits for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Why there is no BLAS here, as Benchmark::UnsupportedReason tells it; empty if there is.
std::string WhyNoBlas();

// "OpenBLAS 0.3.21 Cooperlake", the last the core whose kernels it takes; absent without one.
std::optional<std::string> BlasVersion();

// OpenBLAS knows CPUs by their model, and takes kernels without AVX for one newer than itself:
// with `core` taken, the core to take instead, `by_instructions`; empty if `core` is right.
inline std::string BlasCoreInstead(const std::string& core, const std::string& by_instructions) {
  // What OpenBLAS falls back to: CPUs of 2004 to 2008.
  const bool fallen_back = core == "Prescott" || core == "Nehalem" || core == "Barcelona";
  return fallen_back ? by_instructions : "";
}

// Uses this many threads from now on, process-wide; one until then. This and BlasGemm only
// if BlasVersion().
void SetBlasThreads(int threads);

// C = A B, row-major: A is m x k, B is k x n, C is m x n.
void BlasGemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c);
void BlasGemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c);

}  // namespace assay
