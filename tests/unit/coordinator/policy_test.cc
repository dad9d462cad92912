// Tests accept rules and the retry policy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/core/attempts/retry_policy.h"
#include "coordinator/core/campaign/accept_rule.h"
#include "tests/wording.h"

namespace assay::coordinator {
namespace {

using storage::Disposition;
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

std::string GpuName(const std::string& uuid) { return uuid == "GPU-x" ? "GPU 3" : uuid; }

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
  EXPECT_WORDING("coordinator/accept-spec-of-time", of_time.message());
  schema.set_resource(v1::RESOURCE_KIND_NETWORK);
  const Status of_network = check("one.tflops >= 65% of spec");
  EXPECT_EQ(of_network.reason(), Reason::kInvalidAcceptRule);
  EXPECT_WORDING("coordinator/accept-spec-of-network", of_network.message());
  EXPECT_TRUE(check("one.tflops >= 1 s").ok());
}

TEST(AcceptRuleTest, FailedRule_NamesItsCases_AndThoseWithoutAValue) {
  std::vector<v1::StoredResult> results;
  for (int m = 1; m <= 8; ++m) {
    results.push_back(Stored(100.0 * m, 0));
    (*results.back().mutable_case_result()->mutable_parameters())["m"] = std::to_string(m);
  }
  const auto few = JudgeRule("gemm.tflops >= 250 TFLOP/s", results, GpuName);
  EXPECT_EQ(few.verdict(), v1::VERDICT_FAILED);
  EXPECT_WORDING("coordinator/verdict-failed-cases", few.explanation());
  for (const auto& [index, outcome] :
       {std::pair<size_t, v1::CaseOutcome>(3, v1::CASE_OUTCOME_FAILED),
        {6, v1::CASE_OUTCOME_UNSUPPORTED}}) {
    results[index].mutable_case_result()->set_outcome(outcome);
    results[index].mutable_case_result()->clear_measurements();
  }
  const auto all = JudgeRule("gemm.tflops >= 1 PFLOP/s", results, GpuName);
  EXPECT_EQ(all.results_checked(), 6);
  EXPECT_WORDING("coordinator/verdict-failed-many-cases", all.explanation());
  // A rule that holds still names the cases that it could not check.
  const auto passed = JudgeRule("gemm.tflops >= 1 TFLOP/s", results, GpuName);
  EXPECT_EQ(passed.verdict(), v1::VERDICT_PASSED);
  EXPECT_WORDING("coordinator/verdict-passed-without-values", passed.explanation());
}

TEST(AcceptRuleTest, Verdict_WorstRunDecides) {
  const std::vector<v1::StoredResult> results = {Stored(800, 0.81), Stored(712.3, 0.72)};
  const auto passed = JudgeRule("gemm.tflops >= 0.7 PFLOP/s", results, GpuName);
  EXPECT_EQ(passed.verdict(), v1::VERDICT_PASSED);
  EXPECT_EQ(passed.results_checked(), 2);
  EXPECT_WORDING("coordinator/verdict-passed", passed.explanation());
  EXPECT_EQ(JudgeRule("gemm.tflops > 712.3 TFLOP/s", results, GpuName).verdict(),
            v1::VERDICT_FAILED);
  EXPECT_EQ(JudgeRule("gemm.tflops >= 75% of spec", results, GpuName).verdict(),
            v1::VERDICT_FAILED);
  EXPECT_WORDING("coordinator/verdict-failed",
                 JudgeRule("gemm.tflops >= 75% of spec", results, GpuName).explanation());
  // For an upper bound the largest is the worst.
  EXPECT_WORDING("coordinator/verdict-upper-bound",
                 JudgeRule("gemm.tflops <= 900 TFLOP/s", results, GpuName).explanation());
}

TEST(AcceptRuleTest, Verdict_FailsWithoutResults) {
  const auto verdict = JudgeRule("gemm[dtype=fp16].tflops >= 1 TFLOP/s", {Stored(1, 1)}, GpuName);
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_FAILED);
  EXPECT_EQ(verdict.results_checked(), 0);
}

TEST(AcceptRuleTest, PercentOfSpec_WithoutSheetSuggestsNumber) {
  v1::StoredResult unknown = Stored(512, 0);
  unknown.mutable_case_result()->mutable_environment()->set_gpu_model("H20");
  // A result that cannot be judged fails the rule even if others pass.
  const auto verdict =
      JudgeRule("gemm[dtype=bf16].tflops >= 50% of spec", {Stored(800, 0.8), unknown}, GpuName);
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_FAILED);
  EXPECT_WORDING("coordinator/verdict-without-spec-sheet", verdict.explanation());
  EXPECT_EQ(
      JudgeRule("gemm[dtype=bf16].tflops >= 512 TFLOP/s", {Stored(800, 0.8), unknown}, GpuName)
          .verdict(),
      v1::VERDICT_PASSED);
}

TEST(AcceptRuleTest, Sizes_MatchInAnyNotation) {
  const auto verdict = JudgeRule("gemm[bytes=1GiB].tflops >= 1 TFLOP/s", {Stored(1, 1)}, GpuName);
  EXPECT_EQ(verdict.verdict(), v1::VERDICT_PASSED);
}

TEST(AcceptRuleTest, Campaign_PassesOnlyWithoutFailedJobs) {
  v1::Campaign campaign;
  campaign.set_state(v1::CAMPAIGN_STATE_COMPLETED);
  campaign.mutable_jobs()->set_succeeded(2);
  campaign.mutable_jobs()->set_skipped(1);
  EXPECT_EQ(Judge(campaign, {}, GpuName).verdict, v1::VERDICT_PASSED);
  campaign.mutable_jobs()->set_failed(1);
  EXPECT_EQ(Judge(campaign, {}, GpuName).verdict, v1::VERDICT_FAILED);
}

storage::LeasedJob Job(std::vector<std::string> candidates) {
  storage::LeasedJob job;
  job.job.candidate_node_ids = std::move(candidates);
  job.node_ids = {job.job.candidate_node_ids.front()};
  job.retries = 3;
  return job;
}

v1::Failure Failed(v1::FailureClass failure_class, v1::Reason reason = v1::REASON_INTERNAL) {
  v1::Failure failure;
  failure.set_failure_class(failure_class);
  failure.set_reason(reason);
  return failure;
}

TEST(RetryPolicyTest, NodeFailureAvoidsTheNodeThatItNames) {
  v1::Failure failure = Failed(v1::FAILURE_CLASS_NODE);
  failure.set_node_id("a");
  const RetryDecision decision = DecideRetry(Job({"a", "b"}), failure);
  EXPECT_EQ(decision.disposition, Disposition::kRequeue);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("a"));
  EXPECT_EQ(decision.delay, Duration(0));
}

TEST(RetryPolicyTest, NodeFailureWithoutANameAvoidsThePlacement) {
  EXPECT_THAT(DecideRetry(Job({"a", "b"}), Failed(v1::FAILURE_CLASS_NODE)).avoid_node_ids,
              ElementsAre("a"));
}

TEST(RetryPolicyTest, InfrastructureFailureAvoidsNoNode) {
  v1::Failure failure = Failed(v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_PEER_LOST);
  failure.set_node_id("a");
  const RetryDecision decision = DecideRetry(Job({"a", "b"}), failure);
  EXPECT_EQ(decision.disposition, Disposition::kRequeue);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre());
}

TEST(RetryPolicyTest, GangAvoidsOnlyTheNodeAtFault) {
  storage::LeasedJob job = Job({"a", "b", "c", "d"});
  job.node_ids = {"a", "b"};
  job.job.node_count = 2;
  v1::Failure silent = Failed(v1::FAILURE_CLASS_NODE, v1::REASON_PEER_TIMEOUT);
  silent.set_node_id("b");
  const RetryDecision decision = DecideRetry(job, silent);
  EXPECT_EQ(decision.disposition, Disposition::kRequeue);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("b"));
  EXPECT_EQ(decision.delay, Duration(0));
}

TEST(RetryPolicyTest, NodesAtFaultInEarlierAttemptsAreAvoidedIfEnoughAreLeft) {
  storage::LeasedJob job = Job({"a", "b", "c", "d"});
  job.job.node_count = 2;
  job.node_ids = {"a", "c"};
  job.failures = {{v1::FAILURE_CLASS_NODE, v1::REASON_PEER_TIMEOUT, {"a", "b"}, "b"},
                  {v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_PEER_LOST, {"a", "d"}, "d"}};
  v1::Failure lost = Failed(v1::FAILURE_CLASS_NODE, v1::REASON_AGENT_LOST);
  lost.set_node_id("c");
  RetryDecision decision = DecideRetry(job, lost);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("b", "c"));
  EXPECT_EQ(decision.delay, Duration(0));
  // Too few would be left: b has waited longest.
  job.failures = {{v1::FAILURE_CLASS_NODE, v1::REASON_PEER_TIMEOUT, {"a", "b"}, "b"},
                  {v1::FAILURE_CLASS_NODE, v1::REASON_PEER_TIMEOUT, {"a", "d"}, "d"}};
  decision = DecideRetry(job, lost);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("c", "d"));
  EXPECT_GT(decision.delay, Duration(0));
  // A failure that names no node was the fault of all of them.
  job.failures = {{v1::FAILURE_CLASS_NODE, v1::REASON_AGENT_LOST, {"a"}, ""}};
  EXPECT_THAT(DecideRetry(job, lost).avoid_node_ids, ElementsAre("a", "c"));
}

TEST(RetryPolicyTest, AsManyNodesAtFaultAsPossibleAreAvoided) {
  storage::LeasedJob job = Job({"a", "b", "c", "d", "e"});
  job.job.node_count = 3;
  job.node_ids = {"a", "b", "c"};
  v1::Failure late = Failed(v1::FAILURE_CLASS_NODE, v1::REASON_GANG_NOT_READY);
  late.set_node_id("b");
  RetryDecision decision = DecideRetry(job, late, {"c"});
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("b", "c"));
  EXPECT_EQ(decision.delay, Duration(0));
  // To avoid all where too few are left would be to avoid none.
  job.job.candidate_node_ids = {"a", "b", "c", "d"};
  decision = DecideRetry(job, late, {"c"});
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("b"));
  EXPECT_GT(decision.delay, Duration(0));
  // Includes nodes of an earlier attempt.
  job.job.candidate_node_ids = {"a", "b", "c", "d", "e", "f"};
  job.failures = {{v1::FAILURE_CLASS_NODE, v1::REASON_GANG_NOT_READY, {"b", "c", "d"}, "c", {"d"}}};
  EXPECT_THAT(DecideRetry(job, late).avoid_node_ids, ElementsAre("b", "c", "d"));
}

TEST(RetryPolicyTest, PinnedJobWaitsLongerEachTime) {
  storage::LeasedJob job = Job({"a"});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE)).delay, std::chrono::seconds(1));
  job.failures.push_back({v1::FAILURE_CLASS_NODE, v1::REASON_INTERNAL, {"a"}});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE)).delay, std::chrono::seconds(2));
}

TEST(RetryPolicyTest, JobFailureIsRetriedOnceThereAndOnceElsewhere) {
  storage::LeasedJob job = Job({"a", "b", "c"});
  RetryDecision decision = DecideRetry(job, Failed(v1::FAILURE_CLASS_JOB));
  EXPECT_EQ(decision.disposition, Disposition::kRequeue);
  EXPECT_TRUE(decision.same_nodes);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre());  // Not the list of all other nodes.
  job.failures.push_back({v1::FAILURE_CLASS_JOB, v1::REASON_INTERNAL, {"a"}});
  decision = DecideRetry(job, Failed(v1::FAILURE_CLASS_JOB));
  EXPECT_EQ(decision.disposition, Disposition::kRequeue);
  EXPECT_FALSE(decision.same_nodes);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("a"));
  job.failures.push_back({v1::FAILURE_CLASS_JOB, v1::REASON_INTERNAL, {"a"}});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_JOB)).disposition, Disposition::kFailed);
}

TEST(RetryPolicyTest, PinnedJobFailureIsTriedTwiceInAll) {
  storage::LeasedJob job = Job({"a"});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_JOB)).disposition, Disposition::kRequeue);
  job.failures.push_back({v1::FAILURE_CLASS_JOB, v1::REASON_INTERNAL, {"a"}});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_JOB)).disposition, Disposition::kFailed);
}

TEST(RetryPolicyTest, NothingIsRetriedBeyondTheBudgetOrForUsersOrWhenCancelled) {
  storage::LeasedJob job = Job({"a", "b"});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_USER)).disposition, Disposition::kFailed);
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE, v1::REASON_CANCELLED)).disposition,
            Disposition::kCancelled);
  job.retries = 0;
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE)).disposition, Disposition::kFailed);
  job.cancel_requested = true;
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE)).disposition, Disposition::kCancelled);
}

TEST(RetryPolicyTest, FailuresOfAssaySpendNoRetries) {
  storage::LeasedJob job = Job({"a", "b"});
  job.retries = 0;
  const v1::Failure lost = Failed(v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST);
  for (size_t i = 0; i < kInfrastructureRetries; ++i) {
    EXPECT_EQ(DecideRetry(job, lost).disposition, Disposition::kRequeue) << i;
    job.failures.push_back({v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST, {"a"}, ""});
  }
  EXPECT_EQ(DecideRetry(job, lost).disposition, Disposition::kFailed);
  // They do not use up the user's.
  job.retries = 1;
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE)).disposition, Disposition::kRequeue);
}

TEST(RetryPolicyTest, RepeatedFailuresOfAssayWaitLongerEachTime) {
  storage::LeasedJob job = Job({"a", "b"});
  const v1::Failure lost = Failed(v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST);
  EXPECT_EQ(DecideRetry(job, lost).delay, Duration(0));
  job.failures.push_back({v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST, {"a"}, ""});
  const Duration second = DecideRetry(job, lost).delay;
  EXPECT_GT(second, Duration(0));
  job.failures.push_back({v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST, {"a"}, ""});
  EXPECT_GT(DecideRetry(job, lost).delay, second);
}

}  // namespace
}  // namespace assay::coordinator
