// The BLAS library, OpenBLAS. The first of these calls loads it. It is not linked, because loading
// it starts a thread per CPU: if the address space is limited, these threads retry their allocation
// indefinitely, and fork() waits for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Returns why there is no BLAS, for Benchmark::UnsupportedReason; empty if there is one.
std::string WhyNoBlas();

// Returns "OpenBLAS 0.3.21 Cooperlake", where Cooperlake is the core whose kernels it runs. Absent
// if there is no BLAS.
std::optional<std::string> BlasVersion();

// Returns the core that OpenBLAS should use instead of `core`; empty if `core` is right. OpenBLAS
// identifies CPUs by their model and falls back to kernels without AVX for one newer than itself.
// Then `by_instructions` is better, the core chosen by this CPU's instructions.
inline std::string BlasCoreInstead(const std::string& core, const std::string& by_instructions) {
  // The cores that OpenBLAS falls back to, CPUs of 2004 to 2008.
  const bool fallen_back = core == "Prescott" || core == "Nehalem" || core == "Barcelona";
  return fallen_back ? by_instructions : "";
}

// Sets the number of threads of the process; it is one at first. This and BlasGemm() need
// BlasVersion().
void SetBlasThreads(int threads);

// C = A B, row-major: A is m x k, B is k x n, C is m x n.
void BlasGemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c);
void BlasGemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c);

}  // namespace assay
