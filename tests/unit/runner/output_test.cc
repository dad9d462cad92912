// Tests the output of `assay-runner run` and `list`.
#include "runner/output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/registry.h"
#include "roofline/prediction.h"
#include "tests/wording.h"

namespace assay {
namespace {

v1::CaseResult Gemm() {
  v1::CaseResult result;
  result.set_outcome(v1::CASE_OUTCOME_OK);
  result.set_benchmark("gemm");
  (*result.mutable_parameters())["m"] = "4096";
  v1::Measurement* const rate = result.add_measurements();
  rate->set_metric("tflops");
  rate->set_unit("TFLOP/s");
  rate->set_n(20);
  rate->set_median(700);
  rate->set_p05(690);
  rate->set_p95(705);
  rate->set_ci_low(698);
  rate->set_ci_high(702);
  rate->mutable_method()->set_batch(10);
  rate->mutable_method()->set_timer("events");
  rate->mutable_method()->set_cache("cold");
  rate->mutable_method()->set_fill("random");
  rate->mutable_method()->set_stop_reason("confidence");
  result.mutable_prediction()->set_arithmetic_intensity(250);
  result.mutable_prediction()->set_spec("H200 SXM");
  result.mutable_prediction()->set_ridge_point(206.04);
  return result;
}

TEST(ResultAsTable, MeasuredCaseHasRateSpreadAndPrediction) {
  v1::CaseResult result = Gemm();
  result.mutable_prediction()->set_ridge_measured(152.5);
  result.add_kernels("nvjet_hsh");
  result.mutable_conditions()->set_power_watts(690);
  result.mutable_conditions()->add_flags("throttled");
  EXPECT_WORDING("runner/measured-case", ResultAsTable(result));
}

TEST(ResultAsTable, WithoutASheetTheRidgePointIsPrintedOnce) {
  v1::CaseResult result = Gemm();
  result.mutable_prediction()->clear_spec();
  result.mutable_prediction()->set_ridge_point(152.5);
  result.mutable_prediction()->set_ridge_measured(152.5);
  const std::string table = ResultAsTable(result);
  const size_t first = table.find("152.5");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(table.find("152.5", first + 1), std::string::npos);
}

TEST(ResultAsTable, FewSamplesHaveNoInterval) {
  v1::CaseResult result = Gemm();
  result.mutable_measurements(0)->set_n(5);
  EXPECT_EQ(ResultAsTable(result).find("95%"), std::string::npos);
}

TEST(ResultAsTable, GangHasItsRanksAndTheSlowOne) {
  v1::CaseResult result = Gemm();
  result.mutable_collective()->set_algorithm("RING");
  result.mutable_collective()->set_protocol("LL128");
  result.mutable_collective()->set_channels(24);
  result.mutable_collective()->set_source("NCCL profiler");
  v1::RankTimes* const times = result.add_rank_times();
  times->set_median(40e-6);
  times->set_node_name("node-a");
  result.mutable_slow_rank()->set_rank(0);
  result.mutable_slow_rank()->set_node_name("node-a");
  result.mutable_slow_rank()->set_others_wait_seconds(12e-6);
  EXPECT_WORDING("runner/gang", ResultAsTable(result));
}

TEST(ResultAsTable, FailureAndMissingKernelNamesSayWhy) {
  v1::CaseResult result = Gemm();
  result.clear_measurements();
  result.clear_prediction();
  result.set_outcome(v1::CASE_OUTCOME_FAILED);
  result.mutable_failure()->set_reason(v1::REASON_OUT_OF_MEMORY);
  result.mutable_failure()->set_message("GPU 0 has 3 MiB left");
  result.set_kernels_reason("cannot load libcupti.so.13");
  EXPECT_WORDING("runner/failed-case", ResultAsTable(result));
}

TEST(ResultAsJson, IsAnArrayWithOneObjectPerMetric) {
  v1::CaseResult result = Gemm();
  result.add_measurements()->set_metric("time");
  const auto rows = nlohmann::json::parse(ResultAsJson(result));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["metric"], "tflops");
  EXPECT_EQ(rows[1]["metric"], "time");
}

TEST(ShowBenchmark, NamesWhatPredictsItsTime) {
  for (const char* name : {"cpu_gemm", "tcp_latency"}) {
    const auto benchmark = BuiltinBenchmarks().Find(name);
    ASSERT_TRUE(benchmark.ok());
    const std::string text = ShowBenchmark(**benchmark);
    const BenchmarkInfo& info = (*benchmark)->Info();
    EXPECT_NE(text.find(DescribePrediction(info.prediction, info.resource)), std::string::npos);
  }
}

}  // namespace
}  // namespace assay
