#include "predict/roofline_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace assay::predict {
namespace {

// Points on the roofline of 4 TB/s and 800 TFLOP/s, whose ridge is 200 FLOP per byte.
std::vector<IntensityPoint> PointsOnRoof() {
  std::vector<IntensityPoint> points;
  for (double intensity = 4; intensity <= 4096; intensity *= 2) {
    points.push_back({intensity, std::min(4e12 * intensity, 8e14), "", ""});
  }
  return points;
}

TEST(RooflineFitTest, RecoversARoofline) {
  const auto fit = FitRoofline(PointsOnRoof());
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->ridge, 200, 1e-9);
  EXPECT_NEAR(fit->ridge_low, 200, 1e-9);
  EXPECT_NEAR(fit->ridge_high, 200, 1e-9);
  EXPECT_NEAR(fit->bandwidth, 4e12, 1);
  EXPECT_NEAR(fit->peak, 8e14, 1);
}

// The published run of examples/roofline.yaml on one H200 (docs/measured/experiments/roofline.md).
TEST(RooflineFitTest, RidgeOfAMeasuredRunIsThatOfItsCeilings) {
  std::vector<IntensityPoint> points = {
      {341.3, 281e12, "", "launch"}, {682.7, 577e12, "", ""},  {1365, 635e12, "", ""},
      {7.984, 31e12, "", ""},        {15.94, 61.2e12, "", ""}, {31.75, 119e12, "", ""},
      {63.02, 230e12, "", ""},       {124.1, 415e12, "", ""},  {240.9, 553e12, "", ""},
      {455.1, 626e12, "", ""},       {819.2, 645e12, "", ""},  {1365, 654e12, "", ""},
      {2048, 656e12, "", ""},        {2731, 659e12, "", ""}};
  const auto fit = FitRoofline(points);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_GT(fit->ridge, 152);
  EXPECT_LT(fit->ridge, 180);
  EXPECT_LE(fit->ridge_low, fit->ridge);
  EXPECT_GE(fit->ridge_high, fit->ridge);
}

TEST(RooflineFitTest, OneSlowPointMovesNeitherRoof) {
  std::vector<IntensityPoint> points = PointsOnRoof();
  points[1].rate /= 10;
  points[9].rate /= 10;
  const auto fit = FitRoofline(points);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->ridge, 200, 1e-9);
}

TEST(RooflineFitTest, PointsWithAReasonOrWithoutValuesAreLeftOut) {
  std::vector<IntensityPoint> points = PointsOnRoof();
  points.push_back({100, 1e9, "launch", "launches took its time"});
  points.push_back({0, 1e12, "", ""});
  points.push_back({10, std::nan(""), "", ""});
  points.push_back({std::numeric_limits<double>::infinity(), 1e12, "", ""});
  const auto fit = FitRoofline(points);
  ASSERT_TRUE(fit.ok()) << fit.status();
  EXPECT_NEAR(fit->ridge, 200, 1e-9);
  const Answer answer = RooflineFitAnswer(*fit);
  EXPECT_EQ(answer.Find("points_left_out")->value, 4);
  EXPECT_EQ(answer.Find("points_on_slope")->value + answer.Find("points_on_flat")->value, 11);
  ASSERT_EQ(answer.grids.size(), 1U);
  EXPECT_EQ(answer.grids[0].rows.size(), points.size());
}

TEST(RooflineFitTest, PointsOnOnePartShowNoRidge) {
  std::vector<IntensityPoint> slope;
  for (double intensity = 1; intensity <= 64; intensity *= 2) {
    slope.push_back({intensity, 4e12 * intensity, "", ""});
  }
  std::vector<IntensityPoint> flat;
  for (double intensity = 512; intensity <= 8192; intensity *= 2) {
    flat.push_back({intensity, 8e14, "", ""});
  }
  for (const auto& points :
       {slope, flat, std::vector<IntensityPoint>{}, std::vector<IntensityPoint>(9, slope[0])}) {
    const auto fit = FitRoofline(points);
    ASSERT_FALSE(fit.ok());
    EXPECT_EQ(fit.status().code(), Code::kInvalidArgument);
    EXPECT_EQ(fit.status().violations().at(0).field, "points");
  }
}

}  // namespace
}  // namespace assay::predict
