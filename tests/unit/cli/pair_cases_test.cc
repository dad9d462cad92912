// Results and failed jobs sorted into matrices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/cli/pair_results.h"

namespace assay::cli {
namespace {

using ::testing::IsEmpty;

constexpr double kThreshold = 0.1;

v1::Job JobOf(const std::string& id, int entry, v1::JobState state) {
  v1::Job job = FailedJob("a", "b");
  job.set_job_id(id);
  job.set_benchmark_index(entry);
  job.set_state(state);
  if (state != v1::JOB_STATE_FAILED) job.clear_failure();
  return job;
}

// Two entries of a campaign have one benchmark, and a job of the second failed: the first lost
// nothing, wherever it has values.
TEST(PairCasesTest, AFailedJobIsAFailureOfItsOwnEntry) {
  std::vector<v1::StoredResult> results;
  for (const v1::StoredResult& one :
       EveryPair("abcd", [](const auto&, const auto&) { return 0.5; })) {
    results.push_back(one);
    results.back().mutable_case_result()->set_job_id("first");
    results.push_back(one);
    results.back().mutable_case_result()->set_job_id("second");
    (*results.back().mutable_case_result()->mutable_parameters())["bytes"] = "1024";
  }
  const std::vector<v1::Job> jobs = {
      JobOf("first", 0, v1::JOB_STATE_SUCCEEDED), JobOf("second", 1, v1::JOB_STATE_SUCCEEDED),
      JobOf("repetition", 1, v1::JOB_STATE_FAILED), JobOf("to do", 0, v1::JOB_STATE_QUEUED)};
  auto cases = PairCases(results, jobs, kThreshold);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_EQ(cases[0].parameters, "1KiB");
  ASSERT_EQ(cases[0].failures.size(), 1U);
  EXPECT_EQ(cases[0].failures[0].kind, PairFailureKind::kRepetition);
  EXPECT_EQ(cases[0].waiting, 0U);
  EXPECT_EQ(cases[1].parameters, "64MiB");
  EXPECT_THAT(cases[1].failures, IsEmpty());
  EXPECT_EQ(cases[1].waiting, 1U);

  // Without any value of the second.
  std::erase_if(results, [](const auto& one) { return one.case_result().job_id() == "second"; });
  cases = PairCases(results, jobs, kThreshold);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_THAT(cases[0].failures, IsEmpty());
  EXPECT_EQ(cases[1].parameters, "entry 2");
  ASSERT_EQ(cases[1].failures.size(), 1U);
  EXPECT_EQ(cases[1].failures[0].kind, PairFailureKind::kFailed);
}

// By Student's t: 12.7 standard errors for two, and 4.3 for three, of a median.
TEST(PairCasesTest, SizesStandInTheirOrder) {
  std::vector<v1::StoredResult> results;
  for (const char* bytes : {"1048576", "16777216", "65536", "8"}) {
    (*results.emplace_back(ResultOf("a", "b", 1))
          .mutable_case_result()
          ->mutable_parameters())["bytes"] = bytes;
  }
  std::vector<std::string> order;
  for (const PairCase& one : PairCases(results, {}, 0.1)) order.push_back(one.parameters);
  EXPECT_EQ(order, (std::vector<std::string>{"8B", "64KiB", "1MiB", "16MiB"}));
}

TEST(PairCasesTest, FewRepetitionsTellTheirSpreadBadly) {
  std::vector<v1::StoredResult> results = {ResultOf("a", "b", 0.9), ResultOf("a", "b", 1.0)};
  const auto two = PairCases(results, {}, kThreshold);
  EXPECT_NEAR(two[0].cells[0].interval->second - 0.95, 12.706 * 0.05, 1e-3);
  results.push_back(ResultOf("a", "b", 0.95));
  const auto three = PairCases(results, {}, kThreshold);
  EXPECT_NEAR(three[0].cells[0].interval->second - 0.95, 1.2533 * 4.303 * 0.05 / std::sqrt(3),
              1e-3);
}

TEST(PairCasesTest, RepetitionsCountByTheirMedianAndOtherResultsNot) {
  std::vector<v1::StoredResult> results = {ResultOf("a", "b", 0.4), ResultOf("a", "b", 0.5),
                                           ResultOf("a", "b", 0.9), ResultOf("a", "a", 0.9)};
  v1::StoredResult alone = ResultOf("a", "b", 1);
  alone.mutable_case_result()->mutable_provenance()->mutable_node_names()->RemoveLast();
  results.push_back(alone);
  const auto cases = PairCases(results, {}, kThreshold);
  ASSERT_EQ(cases.size(), 1U);
  ASSERT_EQ(cases[0].cells.size(), 1U);
  EXPECT_DOUBLE_EQ(cases[0].cells[0].value.value, 0.5);
  EXPECT_THAT(PairCases({}, {}, kThreshold), IsEmpty());
}

TEST(PairCasesTest, RepetitionsThatDifferAreUncertain) {
  auto results = EveryPair("abcde", [](const std::string& a, const std::string& b) {
    return a == "a" && b == "d" ? 0.25 : 0.5;
  });
  ASSERT_EQ(PairCases(results, {}, kThreshold)[0].analysis.links.size(), 1U);
  results.push_back(ResultOf("a", "d", 0.5));
  const auto cases = PairCases(results, {}, kThreshold);
  EXPECT_TRUE(cases[0].analysis.links.empty());
  EXPECT_EQ(cases[0].analysis.doubtful_links.size(), 1U);
}

}  // namespace
}  // namespace assay::cli
