#include "predict/cost.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay::predict {
namespace {

Figure At(double value) { return {value, value, value, "measured"}; }

Hardware H200() { return FromSheet(*SheetNamed("H200 SXM")); }

double IdealSeconds(double m, double n, double k) {
  return std::max(2 * m * n * k / 989e12, 2 * (m * k + k * n + m * n) / 4.8e12);
}

MeasuredProduct Measured(double m, double n, double k, double seconds) {
  return {m, n, k, "bf16", At(2 * m * n * k / seconds)};
}

TEST(EstimateTest, WithoutMeasurementsTheSheetIsReached) {
  const Result<ProductTime> time = Estimate(H200(), {4096, 4096, 4096, "bf16", ""});
  ASSERT_TRUE(time.ok());
  EXPECT_DOUBLE_EQ(time->seconds, IdealSeconds(4096, 4096, 4096));
  EXPECT_EQ(time->fixed_seconds, 0);
  EXPECT_EQ(time->efficiency, 1);
}

TEST(EstimateTest, FixedCostAndEfficiencyComeFromMeasuredProducts) {
  Hardware gpu = H200();
  const double fixed = 4e-6;
  gpu.products = {Measured(1, 2048, 2048, IdealSeconds(1, 2048, 2048) + fixed),
                  Measured(4096, 4096, 4096, IdealSeconds(4096, 4096, 4096) / 0.7 + fixed)};
  const Result<ProductTime> time = Estimate(gpu, {4096, 4096, 8192, "bf16", ""});
  ASSERT_TRUE(time.ok());
  EXPECT_NEAR(time->fixed_seconds, fixed, 1e-12);
  EXPECT_NEAR(time->efficiency, 0.7, 1e-9);
  EXPECT_NEAR(time->seconds, IdealSeconds(4096, 4096, 8192) / 0.7 + fixed, 1e-12);
  EXPECT_TRUE(time->source.starts_with("fitted"));
}

TEST(EstimateTest, NothingIsFittedFartherThanAFactorOfEightOrFromAnotherType) {
  Hardware gpu = H200();
  gpu.products = {Measured(512, 4096, 4096, 1e-3)};
  EXPECT_EQ(Estimate(gpu, {4097, 4096, 4096, "bf16", ""})->efficiency, 1);
  EXPECT_LT(Estimate(gpu, {4096, 4096, 4096, "bf16", ""})->efficiency, 1);
  EXPECT_EQ(Estimate(gpu, {512, 4096, 4096, "fp8", ""})->efficiency, 1);
}

TEST(EstimateAllReduceTest, InterpolatesBetweenMeasuredSizes) {
  Hardware gpu = H200();
  gpu.all_reduces = {{2, {{1e6, At(10e-6)}, {4e6, At(40e-6)}, {64e6, At(100e-6)}}, "3 sizes"}};
  EXPECT_NEAR(EstimateAllReduce(gpu, 1e6, 2)->seconds, 10e-6, 1e-12);
  EXPECT_NEAR(EstimateAllReduce(gpu, 2.5e6, 2)->seconds, 25e-6, 1e-12);
  EXPECT_NEAR(EstimateAllReduce(gpu, 34e6, 2)->seconds, 70e-6, 1e-12);
  EXPECT_EQ(EstimateAllReduce(gpu, 34e6, 2)->source, "fitted to 3 sizes");
}

TEST(EstimateAllReduceTest, OtherRanksAndFarSizesUseTheLink) {
  Hardware gpu = H200();
  gpu.all_reduces = {{2, {{1e6, At(10e-6)}, {4e6, At(40e-6)}, {64e6, At(100e-6)}}, "3 sizes"}};
  EXPECT_TRUE(EstimateAllReduce(gpu, 1e6, 4)->source.starts_with("sheet"));
  EXPECT_TRUE(EstimateAllReduce(gpu, 64e6 * 9, 2)->source.starts_with("sheet"));
  EXPECT_TRUE(EstimateAllReduce(gpu, 64e6 * 7, 2)->source.starts_with("fitted"));
  EXPECT_EQ(EstimateAllReduce(gpu, 1e6, 1)->seconds, 0);
}

}  // namespace
}  // namespace assay::predict
