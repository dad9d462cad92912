#include "analysis/pair_report.h"

#include <gtest/gtest.h>

#include "tests/unit/analysis/pair_results.h"

namespace assay::analysis {
namespace {

PairReport ReportOf(const std::vector<v1::StoredResult>& results,
                    const std::vector<v1::Job>& jobs = {}) {
  const Result<PairReport> report = MakePairReport(results, jobs, PairQuery());
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() ? *report : PairReport();
}

double Same(const std::string& /*from*/, const std::string& /*to*/) { return 0.5; }

double SlowC(const std::string& from, const std::string& to) {
  return from == "c" || to == "c" ? 0.25 : 0.5;
}

TEST(PairReport, EqualPairs_AreClear) {
  const PairReport report = ReportOf(EveryPair("abcd", Same));
  ASSERT_EQ(report.cases.size(), 1U);
  EXPECT_EQ(report.cases[0].parameters, "64MiB");
  EXPECT_EQ(report.cases[0].cells.size(), 6U);
  EXPECT_EQ(report.verdict(), Verdict::kClear);
  EXPECT_EQ(ReportOf({}).verdict(), Verdict::kUndecided);
}

TEST(PairReport, Repetitions_CountByTheirMedian) {
  const PairReport report =
      ReportOf({ResultOf("a", "b", 0.4), ResultOf("a", "b", 0.5), ResultOf("a", "b", 0.9)});
  ASSERT_EQ(report.cases[0].cells.size(), 1U);
  EXPECT_DOUBLE_EQ(report.cases[0].cells[0].value.value, 0.5);
  EXPECT_EQ(report.cases[0].cells[0].repetitions, 3);
}

TEST(PairReport, ResultsOnOtherThanTwoNodes_AreIgnored) {
  v1::StoredResult alone = ResultOf("a", "b", 1);
  alone.mutable_case_result()->mutable_provenance()->mutable_node_names()->RemoveLast();
  EXPECT_TRUE(ReportOf({alone, ResultOf("a", "a", 0.9)}).cases.empty());
}

TEST(PairReport, Cases_AreInTheOrderOfTheirSizes) {
  std::vector<v1::StoredResult> results;
  for (const char* bytes : {"1048576", "16777216", "65536", "8"}) {
    results.push_back(ResultOf("a", "b", 1));
    (*results.back().mutable_case_result()->mutable_parameters())["bytes"] = bytes;
  }
  std::vector<std::string> order;
  for (const PairCase& one : ReportOf(results).cases) order.push_back(one.parameters);
  EXPECT_EQ(order, (std::vector<std::string>{"8B", "64KiB", "1MiB", "16MiB"}));
}

TEST(PairReport, BothDirections_AreOneMatrix) {
  auto results = EveryPair("abcd", Same);
  for (const auto& one : EveryPair("abcd", Same)) {
    const auto& names = one.case_result().provenance().node_names();
    // Rank 1 sends: the second node.
    results.push_back(ResultOf(names[0], names[1], names[1] == "d" ? 0.2 : 0.5, "reverse"));
  }
  PairReport report = ReportOf(results);
  ASSERT_EQ(report.cases.size(), 1U);
  ASSERT_EQ(report.cases[0].analysis.nodes.size(), 1U);
  const BadNode& bad = report.cases[0].analysis.nodes[0];
  EXPECT_EQ(report.nodes[bad.node], "d");
  EXPECT_EQ(bad.side, NodeSide::kSending);

  results.pop_back();  // c to d, reversed.
  report = ReportOf(results);
  ASSERT_EQ(report.cases[0].missing.size(), 1U);
  EXPECT_EQ(report.nodes[report.cases[0].missing[0].first], "d");
}

TEST(PairReport, FailedJobs_AreCountedByPairAndBenchmark) {
  auto results = EveryPair("abcd", Same);
  results.erase(results.begin());  // a-b.
  v1::Job again = FailedJob("b", "a");
  again.set_job_id("again");
  const PairReport report = ReportOf(results, {FailedJob("a", "b"), again, FailedJob("c", "d")});
  ASSERT_EQ(report.failures.size(), 2U);
  EXPECT_EQ(report.failures[0].jobs, 2U);
  EXPECT_EQ(report.failures[0].reason, "PEER_LOST: rank 1 is gone");
  // c-d has a value too, of a repetition that worked.
  EXPECT_EQ(report.failures[1].jobs, 1U);
  EXPECT_EQ(report.suspects.size(), 2U);
  EXPECT_EQ(report.verdict(), Verdict::kBad);
}

TEST(PairReport, FailedCase_IsAFailureOfItsJob) {
  v1::StoredResult failed = ResultOf("a", "b", 0);
  v1::CaseResult& run = *failed.mutable_case_result();
  run.clear_measurements();
  run.set_outcome(v1::CASE_OUTCOME_FAILED);
  run.set_job_id("one");
  run.mutable_failure()->set_reason(v1::REASON_VERIFICATION_FAILED);
  v1::Job job = FailedJob("a", "b");
  job.set_job_id("one");
  const PairReport report = ReportOf({failed}, {job});
  EXPECT_TRUE(report.cases.empty());
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_EQ(report.failures[0].jobs, 1U);
  EXPECT_EQ(report.failures[0].reason, "VERIFICATION_FAILED");
}

TEST(PairReport, NodeOnWhichAllPairsFail_IsTheSuspect) {
  const PairReport report = ReportOf(
      EveryPair("abcd", Same), {FailedJob("a", "e"), FailedJob("b", "e"), FailedJob("c", "e")});
  ASSERT_EQ(report.suspects.size(), 1U);
  EXPECT_TRUE(report.suspects[0].is_node());
  EXPECT_EQ(report.nodes[report.suspects[0].a], "e");
}

TEST(PairReport, BandwidthOfZero_IsAFailure) {
  const PairReport report = ReportOf(EveryPair(
      "abcde", [](const auto& a, const auto& b) { return a == "a" && b == "d" ? 0.0 : 0.5; }));
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_EQ(report.failures[0].reason, "bandwidth is 0 GB/s");
  EXPECT_EQ(report.cases[0].missing.size(), 1U);
}

TEST(PairReport, WaitingJobs_LeaveTheVerdictOpen) {
  v1::Job job = FailedJob("a", "e");
  job.clear_failure();
  job.set_state(v1::JOB_STATE_QUEUED);
  const PairReport report = ReportOf(EveryPair("abcd", Same), {job});
  EXPECT_EQ(report.waiting_jobs, 1U);
  EXPECT_EQ(report.cases[0].nodes.size(), 5U);
  EXPECT_EQ(report.cases[0].missing.size(), 4U);
  EXPECT_EQ(report.verdict(), Verdict::kUndecided);
}

TEST(PairReport, Metric_SelectsItsResultsAndBenchmarks) {
  std::vector<v1::StoredResult> results = EveryPair("abcd", SlowC);
  v1::StoredResult other = ResultOf("a", "b", 1);
  other.mutable_case_result()->mutable_measurements(0)->set_metric("retransmits");
  results.push_back(other);
  v1::Job latency = FailedJob("a", "b");
  latency.set_benchmark("tcp_latency");
  const auto report = MakePairReport(results, {latency}, {"bandwidth", 0.1});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->cases.size(), 1U);
  EXPECT_TRUE(report->failures.empty());

  const auto unknown = MakePairReport(results, {}, {"bandwith", 0.1});
  EXPECT_EQ(unknown.status().reason(), Reason::kUnknownMetric);
  ASSERT_EQ(unknown.status().violations().size(), 1U);
  EXPECT_EQ(unknown.status().violations()[0].field, "tcp_bandwidth");
  EXPECT_NE(unknown.status().hint().find("bandwidth"), std::string::npos);
}

}  // namespace
}  // namespace assay::analysis
