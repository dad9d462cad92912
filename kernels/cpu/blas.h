// Matrix multiplication with OpenBLAS, which the first of these calls loads. The program does not
// link to OpenBLAS, because loading it starts a thread per CPU. If the address space is limited,
// these threads retry their allocation forever, and fork() waits for them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Returns why there is no BLAS, for Benchmark::UnsupportedReason; empty if there is one.
std::string WhyNoBlas();

// Returns the version of OpenBLAS and the CPU type whose kernels it uses: "OpenBLAS 0.3.21
// Cooperlake". Returns nothing if there is no BLAS.
std::optional<std::string> BlasVersion();

// Returns the CPU type ("core") for which OpenBLAS should select its kernels, or "" if `core`, its
// own choice, is right. OpenBLAS recognizes CPUs by their model and falls back to kernels without
// AVX if a CPU is newer than the library. In that case returns `by_instructions`, the type that
// matches this CPU's instruction set.
inline std::string BlasCoreInstead(const std::string& core, const std::string& by_instructions) {
  // The cores that OpenBLAS falls back to, CPUs of 2004 to 2008.
  const bool fallen_back = core == "Prescott" || core == "Nehalem" || core == "Barcelona";
  return fallen_back ? by_instructions : "";
}

// Sets the number of threads that the process uses for BLAS calls. The initial number is one. Call
// this and BlasGemm() only if BlasVersion() returns a version.
void SetBlasThreads(int threads);

// C = A B, row-major: A is m x k, B is k x n, C is m x n.
void BlasGemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c);
void BlasGemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c);

}  // namespace assay
