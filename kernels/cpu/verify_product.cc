#include "kernels/cpu/verify_product.h"

#include <cmath>
#include <limits>
#include <vector>

#include "common/units.h"
#include "kernels/random.h"

namespace assay {
namespace {

// Returns the product of a matrix (rows x columns, row-major) and a vector.
template <typename T>
std::vector<double> Times(int64_t rows, int64_t columns, const T* matrix,
                          const std::vector<double>& vector) {
  std::vector<double> product(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) {
    const T* const row = matrix + i * columns;
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j) {
      sum += static_cast<double>(row[j]) * vector[static_cast<size_t>(j)];
    }
    product[static_cast<size_t>(i)] = sum;
  }
  return product;
}

template <typename T>
double SumOfSquares(const T* data, int64_t elements) {
  double sum = 0;
  for (int64_t i = 0; i < elements; ++i) {
    sum += static_cast<double>(data[i]) * static_cast<double>(data[i]);
  }
  return sum;
}

}  // namespace

template <typename T>
Verdict VerifyProduct(int64_t m, int64_t n, int64_t k, const T* a, const T* b, const T* c,
                      uint64_t seed) {
  std::vector<double> signs(static_cast<size_t>(n));
  for (size_t j = 0; j < signs.size(); ++j) signs[j] = (RandomAt(seed, j) & 1) != 0 ? 1 : -1;
  const std::vector<double> got = Times(m, n, c, signs);
  const std::vector<double> expected = Times(m, k, a, Times(k, n, b, signs));
  const double depth = std::sqrt(static_cast<double>(k));
  const double b_norm = std::sqrt(SumOfSquares(b, k * n));
  double worst = 0;
  int64_t worst_row = 0;
  for (int64_t i = 0; i < m; ++i) {
    const auto row = static_cast<size_t>(i);
    const double off = std::fabs(got[row] - expected[row]);
    if (off == 0) continue;  // A row of zeros has no size to divide by.
    const double size = std::sqrt(SumOfSquares(a + i * k, k)) * b_norm / depth;
    const double error = std::isnan(off) ? std::numeric_limits<double>::infinity() : off / size;
    if (error <= worst) continue;
    worst = error;
    worst_row = i;
  }
  Verdict verdict;
  verdict.reference = "fp64 product with a vector of random signs, all rows";
  verdict.norm = "worst_row";
  verdict.error = worst;
  const double roundoff = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
  const double reference_roundoff = std::numeric_limits<double>::epsilon() / 2;
  // Correct results have errors of about 0.4 * roundoff * depth.
  verdict.tolerance =
      4 * (roundoff * depth + reference_roundoff * std::sqrt(static_cast<double>(n)));
  verdict.elements_checked = m * n;
  verdict.passed = verdict.error <= verdict.tolerance;
  if (!verdict.passed) {
    const auto row = static_cast<size_t>(worst_row);
    verdict.detail = "row " + std::to_string(worst_row) + " of the product has a signed sum of " +
                     NumberText(got[row], 9) + ", should be " + NumberText(expected[row], 9);
  }
  return verdict;
}

template Verdict VerifyProduct(int64_t, int64_t, int64_t, const float*, const float*, const float*,
                               uint64_t);
template Verdict VerifyProduct(int64_t, int64_t, int64_t, const double*, const double*,
                               const double*, uint64_t);

}  // namespace assay
