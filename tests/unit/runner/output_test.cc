// What `assay-runner` prints of predictions.
#include "runner/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/registry.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

CaseReport Product() {
  CaseReport report;
  report.outcome = Outcome::kOk;
  report.benchmark = "gemm";
  report.prediction.arithmetic_intensity = 250;
  report.prediction.spec = "H200 SXM";
  report.prediction.ridge_point = 206.04;
  return report;
}

TEST(Output, BothRidgesAreToldApart) {
  CaseReport report = Product();
  EXPECT_THAT(ReportAsTable(report), HasSubstr("250 FLOP/B, ridge point at 206 by the sheet\n"));
  EXPECT_THAT(ReportAsJson(report), Not(HasSubstr("ridge_measured")));
  report.prediction.ridge_measured = 152.5;
  EXPECT_THAT(ReportAsTable(report),
              HasSubstr("ridge point at 206 by the sheet, 152.5 by the measured ceilings\n"));
  EXPECT_THAT(ReportAsJson(report), HasSubstr("\"ridge_point\":206.04,\"ridge_measured\":152.5"));
}

// Then predictions are made from the ceilings: both are one.
TEST(Output, WithoutASheetTheRidgeIsToldOnce) {
  CaseReport report = Product();
  report.prediction.spec = "";
  report.prediction.ridge_point = 152.5;
  report.prediction.ridge_measured = 152.5;
  EXPECT_THAT(ReportAsTable(report), HasSubstr("250 FLOP/B, ridge point at 152.5\n"));
}

TEST(Output, ABenchmarkTellsWhatPredictsItOrNothing) {
  const auto product = BuiltinBenchmarks().Find("cpu_gemm");
  ASSERT_TRUE(product.ok());
  EXPECT_THAT(ShowBenchmark(**product), HasSubstr("\nprediction\n  predicted = max(FLOPs / peak"));
  const auto network = BuiltinBenchmarks().Find("tcp_latency");
  ASSERT_TRUE(network.ok());
  EXPECT_THAT(ShowBenchmark(**network), HasSubstr("\nprediction\n  none: no spec sheet"));
}

}  // namespace
}  // namespace assay
