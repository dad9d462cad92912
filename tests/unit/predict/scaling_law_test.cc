#include "predict/scaling_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace assay::predict {
namespace {

// Best validation losses of four models (published_workloads.csv).
const std::vector<ScalingPoint> kSmallModels = {{98944, 5.3410, 0, "nano"},
                                                {333120, 4.9774, 0, "micro"},
                                                {788736, 4.7920, 0, "mini"},
                                                {2659200, 4.8181, 0, "small"}};

std::vector<ScalingPoint> PointsOnLaw(double floor, double factor, double exponent) {
  std::vector<ScalingPoint> points;
  for (double size = 1e6; size <= 1e9; size *= std::sqrt(10.0)) {
    points.push_back({size, floor + factor * std::pow(size, -exponent), 20 * size, ""});
  }
  return points;
}

std::string RefusedInput(const Result<ScalingFit>& fit) {
  if (fit.ok() || fit.status().violations().empty()) return "";
  EXPECT_EQ(fit.status().code(), Code::kInvalidArgument);
  return fit.status().violations()[0].field;
}

// 7.5929 N^-0.0321 was published as the fit of nano, micro and mini. It is that of all four sizes,
// whose largest was trained too little.
TEST(ScalingLawTest, PublishedFitOfThreeSizesIsThatOfFour) {
  const auto four = FitScalingLaw(kSmallModels, ScalingForm::kPower);
  ASSERT_TRUE(four.ok()) << four.status();
  EXPECT_NEAR(four->factor, 7.5929, 5e-4);
  EXPECT_NEAR(four->exponent, 0.0321, 5e-5);
  const auto three =
      FitScalingLaw({kSmallModels.begin(), kSmallModels.begin() + 3}, ScalingForm::kPower);
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_NEAR(three->factor, 9.755, 2e-2);
  EXPECT_NEAR(three->exponent, 0.0526, 5e-4);
}

// "Slower than Kaplan's 0.076" does not follow from four points: the interval says so.
TEST(ScalingLawTest, IntervalOfThreeSizesContainsKaplansExponent) {
  const auto three =
      FitScalingLaw({kSmallModels.begin(), kSmallModels.begin() + 3}, ScalingForm::kPower);
  ASSERT_TRUE(three.ok());
  ASSERT_TRUE(three->interval.has_value());
  EXPECT_LT(three->interval->low, 0.076);
  EXPECT_GT(three->interval->high, 0.076);
}

TEST(ScalingLawTest, RecoversAPowerLaw) {
  const auto fit = FitScalingLaw(PointsOnLaw(0, 12, 0.076), ScalingForm::kPower);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->exponent, 0.076, 1e-12);
  EXPECT_NEAR(fit->factor, 12, 1e-9);
  EXPECT_NEAR(fit->r_squared, 1, 1e-12);
  EXPECT_NEAR(fit->interval->high - fit->interval->low, 0, 1e-9);
}

// E, A and alpha of Hoffmann 2022, approach 3.
TEST(ScalingLawTest, RecoversAPowerLawWithAFloor) {
  const auto fit = FitScalingLaw(PointsOnLaw(1.69, 406.4, 0.34), ScalingForm::kPowerAndFloor);
  ASSERT_TRUE(fit.ok());
  EXPECT_NEAR(fit->exponent, 0.34, 1e-6);
  EXPECT_NEAR(fit->floor, 1.69, 1e-5);
  EXPECT_NEAR(fit->factor, 406.4, 1e-2);
}

TEST(ScalingLawTest, FloorIsNeverNegative) {
  std::vector<ScalingPoint> points;
  for (double size = 1e6; size <= 1e9; size *= 10) {
    points.push_back({size, 10 - std::log10(size), 0, ""});
  }
  const auto fit = FitScalingLaw(points, ScalingForm::kPowerAndFloor);
  ASSERT_TRUE(fit.ok());
  EXPECT_GE(fit->floor, 0);
}

// The law is known here, so 95 of 100 intervals should contain its exponent.
TEST(ScalingLawTest, IntervalContainsTheTruthAboutAsOftenAsItSays) {
  uint64_t state = 1;
  const auto noise = [&] {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      sum += static_cast<double>(state >> 11) / 9007199254740992.0;
    }
    return sum;
  };
  int power = 0;
  int with_floor = 0;
  constexpr int kTrials = 400;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<ScalingPoint> points = PointsOnLaw(0, 12, 0.076);
    for (ScalingPoint& point : points) point.loss *= std::exp(0.01 * noise());
    const auto fit = FitScalingLaw(points, ScalingForm::kPower);
    ASSERT_TRUE(fit.ok());
    power += fit->interval->low <= 0.076 && 0.076 <= fit->interval->high ? 1 : 0;
    points = PointsOnLaw(1.69, 406.4, 0.34);
    for (ScalingPoint& point : points) point.loss += 0.005 * noise();
    const auto floor = FitScalingLaw(points, ScalingForm::kPowerAndFloor);
    ASSERT_TRUE(floor.ok());
    ASSERT_TRUE(floor->interval.has_value());
    with_floor += floor->interval->low <= 0.34 && 0.34 <= floor->interval->high ? 1 : 0;
  }
  EXPECT_NEAR(power, 0.95 * kTrials, 0.035 * kTrials);
  EXPECT_NEAR(with_floor, 0.95 * kTrials, 0.035 * kTrials);
}

TEST(ScalingLawTest, UnusablePointsAreLeftOutWithAReason) {
  std::vector<ScalingPoint> points = kSmallModels;
  points.push_back({0, 3, 0, "no size"});
  points.push_back({1e6, std::nan(""), 0, "no loss"});
  points.push_back({std::numeric_limits<double>::infinity(), 3, 0, "endless"});
  const auto fit = FitScalingLaw(points, ScalingForm::kPower);
  ASSERT_TRUE(fit.ok());
  EXPECT_EQ(fit->used.size(), 4u);
  ASSERT_EQ(fit->left_out.size(), 3u);
  for (const auto& left : fit->left_out) EXPECT_FALSE(left.reason.empty());
  const Answer answer = ScalingLawAnswer(*fit);
  EXPECT_EQ(answer.Find("points_left_out")->value, 3);
  EXPECT_EQ(answer.grids[0].rows.size(), 7u);
  for (const auto& row : answer.grids[0].rows) {
    EXPECT_EQ(row.size(), answer.grids[0].columns.size());
  }
  for (const Term& term : answer.terms) EXPECT_TRUE(std::isfinite(term.value)) << term.name;
}

TEST(ScalingLawTest, RefusesFewSizesOrASmallSpan) {
  EXPECT_EQ(RefusedInput(FitScalingLaw({}, ScalingForm::kPower)), "x");
  EXPECT_EQ(RefusedInput(
                FitScalingLaw({{1e6, 5}, {1e6, 5.1}, {1e7, 4}, {1e7, 4.1}}, ScalingForm::kPower)),
            "x");
  EXPECT_EQ(RefusedInput(FitScalingLaw({{1e6, 5}, {2e6, 4.8}, {3.9e6, 4.6}}, ScalingForm::kPower)),
            "x");
  EXPECT_EQ(RefusedInput(FitScalingLaw({{1e6, 5}, {2e6, 4.8}, {4e6, 4.6}}, ScalingForm::kPower)),
            "");
}

TEST(ScalingLawTest, ThreeSizesWithAFloorHaveNoInterval) {
  const auto fit = FitScalingLaw({{1e6, 5}, {1e7, 4}, {1e8, 3.5}}, ScalingForm::kPowerAndFloor);
  ASSERT_TRUE(fit.ok());
  EXPECT_FALSE(fit->interval.has_value());
  EXPECT_NEAR(fit->floor, 3, 1e-3);
  EXPECT_EQ(ScalingLawAnswer(*fit).Find("exponent_low"), nullptr);
}

TEST(ScalingLawTest, EqualOrHugeLossesStayFinite) {
  for (const double loss : {1e-300, 1.0, 1e300}) {
    for (const ScalingForm form : {ScalingForm::kPower, ScalingForm::kPowerAndFloor}) {
      const auto fit = FitScalingLaw({{1, loss}, {1e9, loss}, {1e18, loss}, {1e30, loss}}, form);
      ASSERT_TRUE(fit.ok());
      for (const Term& term : ScalingLawAnswer(*fit).terms) {
        EXPECT_TRUE(std::isfinite(term.value)) << term.name << " at " << loss;
      }
    }
  }
}

}  // namespace
}  // namespace assay::predict
