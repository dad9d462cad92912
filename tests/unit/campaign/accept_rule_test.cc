// Tests accept rules.
#include "campaign/accept_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "campaign/accept_verdict.h"
#include "tests/wording.h"

namespace assay::campaign {
namespace {

using ::testing::ElementsAre;

v1::StoredResult Stored(double median, double efficiency, const std::string& dtype = "bf16") {
  v1::StoredResult stored;
  v1::CaseResult& result = *stored.mutable_case_result();
  result.set_benchmark("gemm");
  result.set_outcome(v1::CASE_OUTCOME_OK);
  (*result.mutable_parameters())["dtype"] = dtype;
  (*result.mutable_parameters())["bytes"] = "1073741824";
  v1::Measurement* measurement = result.add_measurements();
  measurement->set_metric("tflops");
  measurement->set_unit("TFLOP/s");
  measurement->set_median(median);
  if (efficiency > 0) result.mutable_prediction()->set_efficiency_spec(efficiency);
  result.mutable_provenance()->add_node_names("node-" + std::to_string(int(median)));
  result.mutable_provenance()->add_gpu_uuids("GPU-x");
  return stored;
}

const VerdictContext kContext = {
    [](const std::string& uuid) { return uuid == "GPU-x" ? std::string("GPU 3") : uuid; }};

TEST(AcceptRuleTest, Rule_ParsesEveryPart) {
  const auto rule = ParseAcceptRule(" gemm[dtype=bf16, m=8192].tflops >= 65% of spec ");
  ASSERT_TRUE(rule.ok()) << rule.status();
  EXPECT_EQ(rule->benchmark, "gemm");
  EXPECT_THAT(rule->parameters, ElementsAre(std::pair<std::string, std::string>("dtype", "bf16"),
                                            std::pair<std::string, std::string>("m", "8192")));
  EXPECT_EQ(rule->metric, "tflops");
  EXPECT_TRUE(rule->percent_of_spec);
  EXPECT_EQ(rule->threshold, 65);
}

TEST(AcceptRuleTest, Units_ConvertBetweenPrefixesOnly) {
  EXPECT_DOUBLE_EQ(*UnitFactor("GFLOP/s", "TFLOP/s"), 1e-3);
  EXPECT_DOUBLE_EQ(*UnitFactor("us", "s"), 1e-6);
  EXPECT_DOUBLE_EQ(*UnitFactor("GiB/s", "B/s"), 1073741824.0);
  EXPECT_FALSE(UnitFactor("GB/s", "s").has_value());
}

TEST(AcceptRuleTest, PercentOfSpec_NeedsRateOfGpu) {
  v1::BenchmarkSchema schema;
  schema.set_name("one");
  schema.set_resource(v1::RESOURCE_KIND_GPU);
  for (const auto& [name, direction] : {std::pair("tflops", v1::DIRECTION_HIGHER_IS_BETTER),
                                        std::pair("time", v1::DIRECTION_LOWER_IS_BETTER)}) {
    v1::MetricSchema* metric = schema.add_metrics();
    metric->set_name(name);
    metric->set_unit("s");
    metric->set_direction(direction);
  }
  const auto check = [&schema](const char* text) {
    return CheckAcceptRule(*ParseAcceptRule(text), schema, nullptr);
  };
  EXPECT_TRUE(check("one.tflops >= 65% of spec").ok());
  const Status of_time = check("one.time <= 110% of spec");
  EXPECT_EQ(of_time.reason(), Reason::kInvalidAcceptRule);
  EXPECT_WORDING("campaign/accept-spec-of-time", of_time.message());
  schema.set_resource(v1::RESOURCE_KIND_NETWORK);
  const Status of_network = check("one.tflops >= 65% of spec");
  EXPECT_EQ(of_network.reason(), Reason::kInvalidAcceptRule);
  EXPECT_WORDING("campaign/accept-spec-of-network", of_network.message());
  EXPECT_TRUE(check("one.tflops >= 1 s").ok());
}

TEST(AcceptRuleTest, FailedRule_NamesItsCases_AndThoseWithoutAValue) {
  std::vector<v1::StoredResult> results;
  for (int m = 1; m <= 8; ++m) {
    results.push_back(Stored(100.0 * m, 0));
    (*results.back().mutable_case_result()->mutable_parameters())["m"] = std::to_string(m);
  }
  const auto few = JudgeRule("gemm.tflops >= 250 TFLOP/s", results, kContext);
  EXPECT_EQ(few.verdict(), v1::VERDICT_FAILED);
  EXPECT_WORDING("campaign/verdict-failed-cases", few.explanation());
  for (const auto& [index, outcome] :
       {std::pair<size_t, v1::CaseOutcome>(3, v1::CASE_OUTCOME_FAILED),
        {6, v1::CASE_OUTCOME_UNSUPPORTED}}) {
    results[index].mutable_case_result()->set_outcome(outcome);
    results[index].mutable_case_result()->clear_measurements();
  }
  const auto all = JudgeRule("gemm.tflops >= 1 PFLOP/s", results, kContext);
  EXPECT_EQ(all.results_checked(), 6);
  EXPECT_WORDING("campaign/verdict-failed-many-cases", all.explanation());
  // A rule that holds still names the cases that it could not check.
  const auto passed = JudgeRule("gemm.tflops >= 1 TFLOP/s", results, kContext);
  EXPECT_EQ(passed.verdict(), v1::VERDICT_PASSED);
  EXPECT_WORDING("campaign/verdict-passed-without-values", passed.explanation());
}

TEST(AcceptRuleTest, Verdict_WorstRunDecides) {
  const std::vector<v1::StoredResult> results = {Stored(800, 0.81), Stored(712.3, 0.72)};
  const auto passed = JudgeRule("gemm.tflops >= 0.7 PFLOP/s", results, kContext);
  EXPECT_EQ(passed.verdict(), v1::VERDICT_PASSED);
  EXPECT_EQ(passed.results_checked(), 2);
  EXPECT_WORDING("campaign/verdict-passed", passed.explanation());
  EXPECT_EQ(JudgeRule("gemm.tflops > 712.3 TFLOP/s", results, kContext).verdict(),
            v1::VERDICT_FAILED);
  EXPECT_EQ(JudgeRule("gemm.tflops >= 75% of spec", results, kContext).verdict(),
            v1::VERDICT_FAILED);
  EXPECT_WORDING("campaign/verdict-failed",
                 JudgeRule("gemm.tflops >= 75% of spec", results, kContext).explanation());
  // For an upper bound the largest is the worst.
  EXPECT_WORDING("campaign/verdict-upper-bound",
                 JudgeRule("gemm.tflops <= 900 TFLOP/s", results, kContext).explanation());
}

TEST(AcceptRuleTest, Verdict_FailsWithoutResults) {
  const auto verdict = JudgeRule("gemm[dtype=fp16].tflops >= 1 TFLOP/s", {Stored(1, 1)}, kContext);
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_FAILED);
  EXPECT_EQ(verdict.results_checked(), 0);
}

TEST(AcceptRuleTest, PercentOfSpec_WithoutSheetSuggestsNumber) {
  v1::StoredResult unknown = Stored(512, 0);
  unknown.mutable_case_result()->mutable_environment()->set_gpu_model("H20");
  // A result that cannot be judged fails the rule even if others pass.
  const auto verdict =
      JudgeRule("gemm[dtype=bf16].tflops >= 50% of spec", {Stored(800, 0.8), unknown}, kContext);
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_FAILED);
  EXPECT_WORDING("campaign/verdict-without-spec-sheet", verdict.explanation());
  EXPECT_EQ(
      JudgeRule("gemm[dtype=bf16].tflops >= 512 TFLOP/s", {Stored(800, 0.8), unknown}, kContext)
          .verdict(),
      v1::VERDICT_PASSED);
}

TEST(AcceptRuleTest, Sizes_MatchInAnyNotation) {
  const auto verdict = JudgeRule("gemm[bytes=1GiB].tflops >= 1 TFLOP/s", {Stored(1, 1)}, kContext);
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_PASSED);
}

TEST(AcceptRuleTest, Campaign_PassesOnlyWithoutFailedJobs) {
  v1::Campaign campaign;
  campaign.set_state(v1::CAMPAIGN_STATE_COMPLETED);
  campaign.mutable_jobs()->set_succeeded(2);
  campaign.mutable_jobs()->set_skipped(1);
  EXPECT_EQ(Judge(campaign, {}, kContext).verdict, v1::VERDICT_PASSED);
  campaign.mutable_jobs()->set_failed(1);
  EXPECT_EQ(Judge(campaign, {}, kContext).verdict, v1::VERDICT_FAILED);
}

}  // namespace
}  // namespace assay::campaign
