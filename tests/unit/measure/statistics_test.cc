#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace assay {
namespace {

std::vector<double> OneTo(int n) {
  std::vector<double> values(static_cast<size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

TEST(Statistics, NoSamplesAreAllZero) {
  const Summary summary = Summarize({});
  EXPECT_EQ(summary.n, 0);
  EXPECT_EQ(summary.median, 0);
}

TEST(Statistics, OneSampleIsEverything) {
  const Summary summary = Summarize({3.5});
  EXPECT_EQ(summary.median, 3.5);
  EXPECT_EQ(summary.mad, 0);
  EXPECT_EQ(summary.p05, 3.5);
  EXPECT_EQ(summary.ci_low, 3.5);
  EXPECT_EQ(summary.ci_high, 3.5);
}

TEST(Statistics, QuantilesAndMadByHand) {
  std::vector<double> values = OneTo(21);
  std::shuffle(values.begin(), values.end(), std::mt19937(7));
  const Summary summary = Summarize(values);
  EXPECT_DOUBLE_EQ(summary.median, 11);
  EXPECT_DOUBLE_EQ(summary.p05, 2);
  EXPECT_DOUBLE_EQ(summary.p95, 20);
  EXPECT_DOUBLE_EQ(summary.mad, 5);
  EXPECT_DOUBLE_EQ(Summarize({1, 2, 3, 4}).median, 2.5);
}

// Ranks from published tables of the sign test's interval.
TEST(Statistics, ConfidenceIntervalUsesTheTabulatedRanks) {
  const std::vector<std::array<int, 3>> table = {{5, 1, 5},    {6, 1, 6},     {10, 2, 9},
                                                 {20, 6, 15},  {30, 10, 21},  {50, 18, 33},
                                                 {70, 27, 44}, {100, 40, 61}, {5000, 2431, 2570}};
  for (const auto& [n, low, high] : table) {
    const Summary summary = Summarize(OneTo(n));
    EXPECT_EQ(summary.ci_low, low) << n;
    EXPECT_EQ(summary.ci_high, high) << n;
  }
}

TEST(Statistics, IntervalCoversTheTrueMedianAsOftenAsItSays) {
  std::mt19937_64 random(11);
  std::lognormal_distribution<double> skewed(0, 1);  // Its median is 1, and it is far from normal.
  int covered = 0;
  constexpr int kTrials = 2000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(40);
    for (double& value : values) value = skewed(random);
    const Summary summary = Summarize(values);
    if (summary.ci_low <= 1 && 1 <= summary.ci_high) ++covered;
  }
  EXPECT_GT(covered, kTrials * 0.94);
}

TEST(Statistics, TiesGiveAnIntervalOfNoWidth) {
  const Summary summary = Summarize(std::vector<double>(100, 2.0));
  EXPECT_EQ(summary.RelativeConfidence(), 0);
  EXPECT_EQ(summary.RelativeNoise(), 0);
}

}  // namespace
}  // namespace assay
