#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/views/results_view.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

v1::StoredResult GemmResult(const std::string& benchmark,
                            const std::vector<std::pair<std::string, std::string>>& parameters,
                            const std::string& metric, const std::string& unit, double median) {
  v1::StoredResult result;
  v1::CaseResult& run = *result.mutable_case_result();
  run.set_job_id(benchmark + std::to_string(median));
  run.set_benchmark(benchmark);
  run.set_outcome(v1::CASE_OUTCOME_OK);
  for (const auto& [name, value] : parameters) (*run.mutable_parameters())[name] = value;
  v1::Measurement& measurement = *run.add_measurements();
  measurement.set_metric(metric);
  measurement.set_unit(unit);
  measurement.set_median(median);
  measurement.set_direction(metric == "time" ? v1::DIRECTION_LOWER_IS_BETTER
                                             : v1::DIRECTION_HIGHER_IS_BETTER);
  run.mutable_environment()->set_gpu_model("H200");
  run.mutable_environment()->set_gpu_form_factor("SXM");
  run.mutable_environment()->set_gpu_count(1);
  return result;
}

v1::StoredResult Gemm(const std::string& m, double tflops) {
  return GemmResult("gemm", {{"m", m}, {"n", m}, {"k", m}, {"dtype", "bf16"}, {"fill", "random"}},
                    "tflops", "TFLOP/s", tflops);
}

TEST(Comparison, RatesAndTimes_AreInTheResultsUnit) {
  const std::vector<v1::StoredResult> results = {
      Gemm("4096", 747.6),
      GemmResult("gemm",
                 {{"m", "1"}, {"n", "11008"}, {"k", "2048"}, {"dtype", "bf16"}, {"cache", "cold"}},
                 "time", "s", 10.3e-6)};
  const Comparisons comparisons = CompareWithPublished(results);
  ASSERT_EQ(comparisons.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(comparisons.rows[0].published, 712);
  EXPECT_DOUBLE_EQ(comparisons.rows[0].ratio, 747.6 / 712);
  // Half the time is a ratio of 2.
  EXPECT_DOUBLE_EQ(comparisons.rows[1].published, 20.6e-6);
  EXPECT_DOUBLE_EQ(comparisons.rows[1].ratio, 2);
  EXPECT_EQ(comparisons.unmatched, 0u);
}

TEST(Comparison, UnpublishedCases_AreCounted) {
  v1::StoredResult failed = Gemm("4096", 700);
  failed.mutable_case_result()->set_outcome(v1::CASE_OUTCOME_FAILED);
  v1::StoredResult slice = Gemm("4096", 90);
  slice.mutable_case_result()->mutable_environment()->set_mig_profile("1g.18gb");
  // The time of a case for whose rate a figure was published.
  v1::StoredResult time = Gemm("4096", 712);
  v1::Measurement& measurement = *time.mutable_case_result()->mutable_measurements(0);
  measurement.set_metric("time");
  measurement.set_unit("s");
  const std::vector<v1::StoredResult> results = {Gemm("4096", 712), time, Gemm("4000", 600), failed,
                                                 slice};
  const Comparisons comparisons = CompareWithPublished(results);
  EXPECT_EQ(comparisons.rows.size(), 1u);
  EXPECT_EQ(comparisons.unmatched, 2u);
}

TEST(Comparison, EveryFormat_HasResultFigureRatioSoftwareAndNote) {
  std::vector<v1::StoredResult> results = {Gemm("4096", 747.6)};
  results[0].mutable_case_result()->mutable_conditions()->add_flags("throttled");
  const Comparisons comparisons = CompareWithPublished(results);
  EXPECT_WORDING("views/compare-table", ComparisonTable(comparisons, {}));
  EXPECT_WORDING("views/compare-80-columns", ComparisonTable(comparisons, {80, false}));
  EXPECT_WORDING("views/compare-csv", ComparisonCsv(comparisons));
  const auto json = nlohmann::json::parse(ComparisonJson(comparisons));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["published"], 712);
  EXPECT_EQ(json[0]["parameters"]["dtype"], "bf16");
  EXPECT_EQ(ComparisonJson({}), "[]\n");
}

TEST(PublishedText, ListsFiguresOfTheBenchmarksAndGpus) {
  const auto has = [](const v1::StoredResult& result, const char* part) {
    return PublishedText({result}, {}).find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(Gemm("7", 1), "m=4096 n=4096 k=4096 dtype=bf16"));
  EXPECT_FALSE(has(Gemm("7", 1), "all_reduce"));
  EXPECT_FALSE(has(Gemm("7", 1), "RTX 4090"));
  v1::StoredResult unknown = Gemm("4096", 1);
  unknown.mutable_case_result()->mutable_environment()->set_gpu_model("RTX 9090");
  EXPECT_TRUE(has(unknown, "RTX 4090"));
  unknown.mutable_case_result()->set_benchmark("cpu_gemm");
  EXPECT_WORDING("views/compare-nothing-published", PublishedText({unknown}, {}));
}

TEST(PublishedMetricsFilter, HasEveryPublishedMetricOnce) {
  const std::string filter = PublishedMetricsFilter();
  for (const PublishedFigure& figure : PublishedFigures()) {
    const std::string metric = "metric = \"" + figure.metric + "\"";
    const size_t at = filter.find(metric);
    ASSERT_NE(at, std::string::npos) << figure.metric;
    EXPECT_EQ(filter.find(metric, at + 1), std::string::npos) << figure.metric;
  }
}

}  // namespace
}  // namespace assay::cli
