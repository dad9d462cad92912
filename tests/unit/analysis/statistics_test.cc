#include "analysis/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::analysis {
namespace {

TEST(Statistics, Median_IsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(MedianOf({}), 0);
  EXPECT_EQ(MedianOf({3, 9, 1}), 3);
  EXPECT_EQ(MedianOf({4, 9, 1, 3}), 3.5);
}

TEST(Statistics, CombineRepetitions_OneRepetitionIsUnchanged) {
  const Estimate known = CombineRepetitions({{0.5, 0.1}});
  EXPECT_EQ(known.value, 0.5);
  EXPECT_EQ(known.error, 0.1);
  EXPECT_FALSE(CombineRepetitions({{0.5, std::nullopt}}).error.has_value());
}

// Student's t is 12.7 standard errors for two repetitions; for the median of three it is 4.3.
TEST(Statistics, CombineRepetitions_FewRepetitionsWidenTheirSpread) {
  const Estimate two = CombineRepetitions({{0.9, {}}, {1.0, {}}});
  EXPECT_DOUBLE_EQ(two.value, 0.95);
  EXPECT_NEAR(kHalfInterval * *two.error, 12.706 * 0.05, 1e-3);
  const Estimate three = CombineRepetitions({{0.9, {}}, {1.0, {}}, {0.95, {}}});
  EXPECT_NEAR(kHalfInterval * *three.error, 1.2533 * 4.303 * 0.05 / std::sqrt(3), 1e-3);
}

TEST(Statistics, CombineRepetitions_EqualValuesKeepTheirOwnErrors) {
  EXPECT_NEAR(*CombineRepetitions({{1, 0.2}, {1, 0.2}, {1, 0.2}, {1, 0.2}}).error, 0.1, 1e-12);
}

}  // namespace
}  // namespace assay::analysis
