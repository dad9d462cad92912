#include "kernels/cpu/verify_product.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/random.h"

namespace assay {
namespace {

// matrix (rows x columns) times vector.
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

}  // namespace

template <typename T>
Verdict VerifyProduct(int64_t m, int64_t n, int64_t k, const T* a, const T* b, const T* c,
                      uint64_t seed) {
  std::vector<double> signs(static_cast<size_t>(n));
  for (size_t j = 0; j < signs.size(); ++j) signs[j] = (RandomAt(seed, j) & 1) != 0 ? 1 : -1;
  const std::vector<double> got = Times(m, n, c, signs);
  const std::vector<double> expected = Times(m, k, a, Times(k, n, b, signs));
  double difference = 0;
  double norm = 0;
  double worst = -1;
  int64_t worst_row = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double off = got[i] - expected[i];
    difference += off * off;
    norm += expected[i] * expected[i];
    if (std::fabs(off) > worst || std::isnan(off)) {
      worst = std::isnan(off) ? std::numeric_limits<double>::infinity() : std::fabs(off);
      worst_row = static_cast<int64_t>(i);
    }
  }
  Verdict verdict;
  verdict.reference = "fp64 product with a vector of random signs, all rows";
  verdict.error = std::sqrt(difference / norm);
  verdict.tolerance = 8 * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2 *
                      std::sqrt(static_cast<double>(k));
  verdict.elements_checked = m * n;
  verdict.passed = verdict.error <= verdict.tolerance;  // False for NaN.
  if (!verdict.passed) {
    verdict.detail = "row " + std::to_string(worst_row) + " of the product is off by " +
                     std::to_string(worst) + " in its signed sum";
  }
  return verdict;
}

template Verdict VerifyProduct(int64_t, int64_t, int64_t, const float*, const float*, const float*,
                               uint64_t);
template Verdict VerifyProduct(int64_t, int64_t, int64_t, const double*, const double*,
                               const double*, uint64_t);

}  // namespace assay
