// Results and failed jobs sorted into matrices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/cli/pair_results.h"

namespace assay::cli {
namespace {

using ::testing::IsEmpty;

constexpr double kThreshold = 0.1;

// Of two cases of one benchmark the job of one failed on a pair: the other lost nothing.
TEST(PairCasesTest, AFailedJobIsNoFailureOfTheCaseThatHasItsValue) {
  auto results = EveryPair("abcd", [](const std::string&, const std::string&) { return 0.5; });
  const size_t count = results.size();
  for (size_t i = 1; i < count; ++i) {  // Without a-b.
    v1::StoredResult other = results[i];
    (*other.mutable_case_result()->mutable_parameters())["bytes"] = "1024";
    results.push_back(other);
  }
  const auto cases = PairCases(results, {FailedJob("a", "b")}, kThreshold);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_TRUE(AnyBad(cases[0]));
  EXPECT_FALSE(AnyBad(cases[1]));
  EXPECT_EQ(cases[1].parameters, "64MiB");
}

// By Student's t: 12.7 standard errors for two, and 4.3 for three, of a median.
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
