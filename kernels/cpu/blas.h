// Matrix multiplication on the CPU with OpenBLAS. The program does not link to the library but
// loads it at the first call, because loading starts one thread per CPU. If the address space is
// limited, these threads retry failing allocations forever, and fork() hangs because it waits for
// the threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Returns why there is no BLAS, for Benchmark::UnsupportedReason; empty if there is one.
std::string WhyNoBlas();

// Returns the version of OpenBLAS and the CPU type whose kernels it uses, such as "OpenBLAS 0.3.21
// Cooperlake". Returns nullopt if there is no BLAS library.
std::optional<std::string> BlasVersion();

// Corrects OpenBLAS's choice of CPU type, `core`. OpenBLAS recognizes CPUs by their model. For a
// CPU that is newer than the library, OpenBLAS chooses an old type without AVX. In that case this
// function returns `by_instructions`, the type that matches the CPU's instruction set. Otherwise it
// returns "".
inline std::string BlasCoreInstead(const std::string& core, const std::string& by_instructions) {
  // The cores that OpenBLAS falls back to, CPUs of 2004 to 2008.
  const bool fallen_back = core == "Prescott" || core == "Nehalem" || core == "Barcelona";
  return fallen_back ? by_instructions : "";
}

// Sets the number of threads that BLAS calls in this process use. The default is one. This function
// and BlasGemm() may be called only if BlasVersion() returns a version.
void SetBlasThreads(int threads);

// C = A B, row-major: A is m x k, B is k x n, C is m x n.
void BlasGemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c);
void BlasGemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c);

}  // namespace assay
