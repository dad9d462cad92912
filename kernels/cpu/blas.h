// Matrix multiplication on the CPU with OpenBLAS. The library is loaded on the first call rather
// than linked, because a linked OpenBLAS would start one thread per CPU when the program starts. If
// the address space is limited, these threads retry failing allocations forever, and fork() hangs
// waiting for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Returns why OpenBLAS cannot be used, for Benchmark::UnsupportedReason(), or "" if it can be used.
std::string WhyNoBlas();

// Returns the version of OpenBLAS and the CPU type whose kernels it uses, such as "OpenBLAS 0.3.21
// Cooperlake", or nullopt if there is no BLAS library.
std::optional<std::string> BlasVersion();

// Returns the CPU type that OpenBLAS should use instead of `core`, the type that it chose, or "" if
// `core` is right. OpenBLAS recognizes CPUs by model. For a CPU newer than the library, it chooses
// an old type without AVX. `by_instructions`, the type that matches the CPU's instruction set, is
// then the right one.
inline std::string BlasCoreInstead(const std::string& core, const std::string& by_instructions) {
  // OpenBLAS uses these CPU types, of 2004 to 2008, for CPUs that it does not recognize.
  const bool fallen_back = core == "Prescott" || core == "Nehalem" || core == "Barcelona";
  return fallen_back ? by_instructions : "";
}

// Sets the number of threads used by BLAS calls in this process. The default is one. This function
// and BlasGemm() may be called only if BlasVersion() returns a version.
void SetBlasThreads(int threads);

// Compute C = A B. All matrices are row-major: A is m x k, B is k x n, and C is m x n.
void BlasGemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c);
void BlasGemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c);

}  // namespace assay
