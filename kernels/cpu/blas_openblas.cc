#include "kernels/cpu/blas.h"

#include <cblas.h>

#include <array>

namespace assay {

std::optional<std::string> BlasVersion() {
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": name and version only.
  const std::string config = openblas_get_config();
  const size_t name_end = config.find(' ');
  return config.substr(0, config.find(' ', name_end + 1));
}

void SetBlasThreads(int threads) { openblas_set_num_threads(threads); }

void BlasGemm(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c) {
  const auto [rows, columns, inner] =
      std::array{static_cast<blasint>(m), static_cast<blasint>(n), static_cast<blasint>(k)};
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, 1.0F, a, inner, b,
              columns, 0.0F, c, columns);
}

void BlasGemm(int64_t m, int64_t n, int64_t k, const double* a, const double* b, double* c) {
  const auto [rows, columns, inner] =
      std::array{static_cast<blasint>(m), static_cast<blasint>(n), static_cast<blasint>(k)};
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, columns, inner, 1.0, a, inner, b,
              columns, 0.0, c, columns);
}

}  // namespace assay
