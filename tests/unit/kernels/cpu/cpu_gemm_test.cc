#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cpu/host_buffer.h"
#include "kernels/cpu/verify_product.h"
#include "kernels/registry.h"
#include "tests/unit/kernels/run_small.h"

namespace assay {
namespace {

TEST(CpuGemm, OddShapesBothTypes) {
  const Benchmark* gemm = *BuiltinBenchmarks().Find("cpu_gemm");
  for (const char* dtype : {"fp32", "fp64"}) {
    RunSmall(*gemm, {{"m", "1"}, {"n", "1"}, {"k", "1"}, {"dtype", dtype}, {"cache", "cold"}});
    RunSmall(*gemm, {{"m", "33"}, {"n", "17"}, {"k", "65"}, {"dtype", dtype}, {"cache", "hot"}});
    RunSmall(*gemm, {{"m", "3"}, {"n", "300"}, {"k", "129"}, {"threads", "1"}, {"dtype", dtype}});
  }
}

template <typename T>
void ProductFaultsAreFound() {
  constexpr int64_t kM = 70, kN = 50, kK = 90;
  std::vector<T> a(kM * kK), b(kK * kN), c(kM * kN);
  FillUniform(a.data(), kM * kK, 1);
  FillUniform(b.data(), kK * kN, 2);
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < kK; ++k) {
        sum += a[static_cast<size_t>(i * kK + k)] * b[static_cast<size_t>(k * kN + j)];
      }
      c[static_cast<size_t>(i * kN + j)] = sum;
    }
  }
  const auto verify = [&](const std::vector<T>& product) {
    return VerifyProduct<T>(kM, kN, kK, a.data(), b.data(), product.data(), 3);
  };
  const Verdict good = verify(c);
  EXPECT_TRUE(good.passed) << good.error << " > " << good.tolerance;
  EXPECT_EQ(good.elements_checked, kM * kN);
  for (const size_t at : {size_t{0}, size_t{1234}, c.size() - 1}) {
    for (const T wrong : {-c[at], c[at] * static_cast<T>(1.01), std::numeric_limits<T>::quiet_NaN(),
                          std::numeric_limits<T>::infinity(), T{0}}) {
      std::vector<T> planted = c;
      planted[at] = wrong;
      const Verdict verdict = verify(planted);
      EXPECT_FALSE(verdict.passed) << "element " << at << " = " << wrong;
      EXPECT_THAT(verdict.detail, testing::HasSubstr("row " + std::to_string(at / kN)));
    }
  }
  EXPECT_FALSE(verify(std::vector<T>(c.size(), 0)).passed);
}

TEST(VerifyProduct, PlantedFaultsAreFound) {
  ProductFaultsAreFound<float>();
  ProductFaultsAreFound<double>();
}

// One element in a tall product, off by so little that the norm over all rows hides it.
TEST(VerifyProduct, ErrorInOneRowIsFound) {
  constexpr int64_t kM = 8192, kN = 2, kK = 64;
  std::vector<float> a(kM * kK), b(kK * kN), c(kM * kN);
  FillUniform(a.data(), kM * kK, 1);
  FillUniform(b.data(), kK * kN, 2);
  for (size_t i = 0; i < kM; ++i) {
    for (size_t j = 0; j < kN; ++j) {
      double sum = 0;
      for (size_t k = 0; k < kK; ++k) sum += double{a[i * kK + k]} * double{b[k * kN + j]};
      c[i * kN + j] = static_cast<float>(sum);
    }
  }
  const auto verify = [&] {
    return VerifyProduct<float>(kM, kN, kK, a.data(), b.data(), c.data(), 3);
  };
  EXPECT_TRUE(verify().passed) << verify().error;
  const auto worst = std::max_element(c.begin(), c.end());
  *worst *= 1 + 1e-4F;
  double square = 0;
  for (const float element : c) square += double{element} * double{element};
  // The tolerance of a norm over all rows: 8 u sqrt(k).
  EXPECT_LT(1e-4 * double{*worst} / std::sqrt(square), 8 * std::ldexp(1, -24) * std::sqrt(kK));
  const Verdict verdict = verify();
  EXPECT_FALSE(verdict.passed) << verdict.error << " <= " << verdict.tolerance;
}

// Where k is small beside n, the reference rounds more than the product does.
TEST(VerifyProduct, RoundingOfTheReferencePasses) {
  constexpr int64_t kM = 16, kN = 65536;
  std::vector<double> a(kM), b(kN), c(kM * kN);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    FillUniform(a.data(), kM, seed);
    FillUniform(b.data(), kN, seed + 100);
    for (size_t i = 0; i < kM; ++i) {
      for (size_t j = 0; j < kN; ++j) c[i * kN + j] = a[i] * b[j];
    }
    const Verdict verdict =
        VerifyProduct<double>(kM, kN, 1, a.data(), b.data(), c.data(), seed + 200);
    EXPECT_TRUE(verdict.passed) << verdict.error << " > " << verdict.tolerance;
  }
}

}  // namespace
}  // namespace assay
