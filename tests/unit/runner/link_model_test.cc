#include <gtest/gtest.h>

#include <cmath>

#include "roofline/alpha_beta.h"
#include "runner/measurement_cache.h"
#include "tests/temporary_folder.h"

namespace assay {
namespace {

constexpr double kOtherBytes = 12345;  // A size that no test measures.

SizedTime Time(double bytes, double alpha, double beta) { return {bytes, alpha + bytes / beta}; }

TEST(AlphaBetaTest, FindsLatencyAndBandwidthOfExactTimes) {
  std::vector<SizedTime> points;
  for (double bytes = 8; bytes <= 8e9; bytes *= 10) points.push_back(Time(bytes, 7e-6, 340e9));
  const auto model = FitAlphaBeta(points);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->latency_seconds, 7e-6, 1e-12);
  EXPECT_NEAR(model->bandwidth, 340e9, 1);
  EXPECT_NEAR(model->KneeBytes(), 7e-6 * 340e9, 1);
  EXPECT_NEAR(model->Seconds(model->KneeBytes()), 2 * 7e-6, 1e-12);
  EXPECT_LT(model->error, 1e-9);
  EXPECT_EQ(model->points, 10);
}

// Relative errors give short and long times the same weight.
TEST(AlphaBetaTest, MinimisesRelativeErrors) {
  std::vector<SizedTime> points;
  double sign = 1;
  for (double bytes = 8; bytes <= 8e9; bytes *= 10, sign = -sign) {
    SizedTime point = Time(bytes, 7e-6, 340e9);
    point.seconds *= 1 + 0.02 * sign;
    points.push_back(point);
  }
  const auto model = FitAlphaBeta(points);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->latency_seconds / 7e-6, 1, 0.02);
  EXPECT_NEAR(model->bandwidth / 340e9, 1, 0.02);
  EXPECT_NEAR(model->error, 0.02, 0.01);
}

// The line nearly meets the three times that it is fitted to, so the errors of these times would be
// too small.
TEST(AlphaBetaTest, ErrorIsThatOfTimesLeftOutOfTheFit) {
  const auto model = FitAlphaBeta({{1e3, 10e-6}, {4e3, 20e-6}, {16e3, 22e-6}});
  ASSERT_TRUE(model);
  // Each size is predicted from the other two: 19.5 us for 1e3, 12.4 us for 4e3, 60 us for 16e3.
  EXPECT_NEAR(model->error, 0.95, 0.001);
}

TEST(AlphaBetaTest, TimesBeyondTheErrorsOfTheModelAreUnexplained) {
  AlphaBeta model;
  model.latency_seconds = 1e-3;
  model.bandwidth = 1e9;
  model.smallest_bytes = 1e5;
  model.largest_bytes = 1e7;
  model.error = 0.01;  // Times that are twice as long are unexplained.
  EXPECT_FALSE(model.LeavesUnexplained(1e6, 3.9e-3));
  EXPECT_TRUE(model.LeavesUnexplained(1e6, 4.1e-3));
  EXPECT_FALSE(model.LeavesUnexplained(1e6, 1e-4));
  EXPECT_FALSE(model.LeavesUnexplained(9e4, 1));  // The model may not hold outside its sizes.
  EXPECT_FALSE(model.LeavesUnexplained(2e7, 1));
  model.error = 0.2;  // The limit is six times this error.
  EXPECT_FALSE(model.LeavesUnexplained(1e6, 4.3e-3));
  EXPECT_TRUE(model.LeavesUnexplained(1e6, 4.5e-3));
}

TEST(AlphaBetaTest, CoversAFactorBeyondTheFittedSizes) {
  const auto model = FitAlphaBeta({{1e3, 1e-6}, {1e4, 2e-6}, {1e5, 10e-6}});
  ASSERT_TRUE(model);
  EXPECT_TRUE(model->Covers(1e3 / 8) && model->Covers(3e4) && model->Covers(8e5));
  EXPECT_FALSE(model->Covers(100));
  EXPECT_FALSE(model->Covers(1e6));
}

TEST(AlphaBetaTest, LatencyIsNeverNegative) {
  const auto model = FitAlphaBeta({{1e6, 0.9e-3}, {1e7, 1e-2}, {1e8, 1.1e-1}});
  ASSERT_TRUE(model);
  EXPECT_EQ(model->latency_seconds, 0);
  EXPECT_NEAR(model->bandwidth, 1e9, 0.1e9);
}

TEST(AlphaBetaTest, TooFewOrUnusableTimesGiveNoModel) {
  EXPECT_FALSE(FitAlphaBeta({}));
  EXPECT_FALSE(FitAlphaBeta({{8, 1e-6}, {800, 2e-6}}));
  EXPECT_FALSE(FitAlphaBeta({{8, 1e-6}, {8, 1e-6}, {800, 2e-6}}));
  EXPECT_FALSE(FitAlphaBeta({{100, 1e-6}, {200, 2e-6}, {300, 3e-6}}));
  EXPECT_FALSE(FitAlphaBeta({{8, 1e-6}, {80, 0}, {800, 3e-6}}));
  EXPECT_FALSE(FitAlphaBeta({{8, 1e-6}, {80, NAN}, {800, 3e-6}}));
  // The model cannot explain larger messages that are faster.
  EXPECT_FALSE(FitAlphaBeta({{8, 3e-6}, {80, 2e-6}, {8e9, 1e-6}}));
}

const LinkSeries kTwoRanks = {"machine", "all_reduce ranks=2"};

void AddLine(const LinkSeries& series, double alpha, MeasurementCache& cache) {
  for (double bytes = 8; bytes <= 8e9; bytes *= 1000) {
    series.Add(Time(bytes, alpha, 1e9), cache);
  }
}

TEST(LinkSeries, MachinesAndSeriesAreKeptApartBetweenProcesses) {
  const TemporaryFolder folder;
  const LinkSeries four_ranks = {"machine", "all_reduce ranks=4"};
  {
    MeasurementCache cache(folder.path());
    AddLine(kTwoRanks, 1e-6, cache);
    AddLine(four_ranks, 3e-6, cache);
  }
  MeasurementCache cache(folder.path());
  const auto two = kTwoRanks.Fit(kOtherBytes, cache);
  const auto four = four_ranks.Fit(kOtherBytes, cache);
  ASSERT_TRUE(two && four);
  EXPECT_NEAR(two->latency_seconds, 1e-6, 1e-9);
  EXPECT_NEAR(four->latency_seconds, 3e-6, 1e-9);
  EXPECT_EQ(two->points, 4);
  EXPECT_FALSE((LinkSeries{"another machine", kTwoRanks.name}.Fit(kOtherBytes, cache)));
  EXPECT_FALSE((LinkSeries{"machine", "all_reduce ranks=8"}.Fit(kOtherBytes, cache)));
}

TEST(LinkSeries, SizeIsNotPredictedFromItself) {
  MeasurementCache cache("");
  AddLine(kTwoRanks, 1e-6, cache);
  const auto model = kTwoRanks.Fit(8, cache);
  ASSERT_TRUE(model);
  EXPECT_EQ(model->points, 3);
}

}  // namespace
}  // namespace assay
