// The functions of blas.h for a build without BLAS.
#include "kernels/cpu/blas.h"

namespace assay {

std::string WhyNoBlas() { return "needs OpenBLAS; this runner was built without it"; }
std::optional<std::string> BlasVersion() { return std::nullopt; }
void SetBlasThreads(int) {}
void BlasGemm(int64_t, int64_t, int64_t, const float*, const float*, float*) {}
void BlasGemm(int64_t, int64_t, int64_t, const double*, const double*, double*) {}

}  // namespace assay
