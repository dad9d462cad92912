#include "analysis/distributions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::analysis {
namespace {

TEST(Distributions, NormalQuantile_MatchesPublishedValues) {
  EXPECT_NEAR(NormalQuantile(0.975), 1.959963984540054, 1e-12);
  EXPECT_NEAR(NormalQuantile(0.999), 3.090232306167813, 1e-12);
  EXPECT_NEAR(NormalQuantile(1e-9), -5.997807015007687, 1e-9);
  EXPECT_EQ(NormalQuantile(0.5), 0);
  EXPECT_NEAR(NormalCdf(1.644853626951472), 0.95, 1e-14);
  EXPECT_NEAR(NormalQuantile(0.2), -NormalQuantile(0.8), 1e-14);
}

TEST(Distributions, Quantiles_InvertTheirDistribution) {
  for (const double p : {1e-12, 1e-6, 0.0005, 0.02, 0.3, 0.5, 0.6, 0.97, 0.9999}) {
    EXPECT_NEAR(NormalCdf(NormalQuantile(p)), p, 1e-10 * p) << p;
    for (const double freedom : {0.7, 1.0, 2.5, 10.0, 99.0, 1e5}) {
      EXPECT_NEAR(StudentCdf(StudentQuantile(p, freedom), freedom), p, 1e-9 * p)
          << p << ", " << freedom;
    }
  }
}

// Abramowitz and Stegun, table 26.10, and the closed forms for one and two degrees of freedom.
TEST(Distributions, StudentQuantile_MatchesPublishedValues) {
  EXPECT_NEAR(StudentQuantile(0.975, 1), 12.7062047364, 1e-9);
  EXPECT_NEAR(StudentQuantile(0.975, 2), 4.302652729749463, 1e-11);
  EXPECT_NEAR(StudentQuantile(0.975, 4), 2.77644510520, 1e-10);
  EXPECT_NEAR(StudentQuantile(0.995, 10), 3.16927267, 1e-8);
  EXPECT_NEAR(StudentQuantile(0.9995, 30), 3.64595864, 1e-8);
  EXPECT_NEAR(StudentQuantile(0.95, 120), 1.65765090, 1e-8);
  EXPECT_EQ(StudentQuantile(0.5, 3), 0);
  EXPECT_NEAR(StudentQuantile(0.025, 7), -StudentQuantile(0.975, 7), 1e-12);
}

TEST(Distributions, StudentCdf_ApproachesTheNormalDistribution) {
  EXPECT_NEAR(StudentCdf(1.0, 1), 0.75, 1e-13);
  EXPECT_NEAR(StudentCdf(-2.0, 1e8), NormalCdf(-2.0), 1e-8);
  EXPECT_EQ(StudentCdf(0, 5), 0.5);
  EXPECT_NEAR(StudentCdf(1e6, 3), 1, 1e-15);
}

TEST(Distributions, Quantiles_AreInfiniteAtTheEnds) {
  EXPECT_TRUE(std::isinf(NormalQuantile(0)));
  EXPECT_TRUE(std::isinf(StudentQuantile(1, 3)));
}

}  // namespace
}  // namespace assay::analysis
