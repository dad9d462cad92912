#include "cli/pairs_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace assay::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kThreshold = 0.1;

v1::StoredResult ResultOf(const std::string& from, const std::string& to, double median,
                          const std::string& direction = "unidirectional") {
  v1::StoredResult stored;
  v1::CaseResult& run = *stored.mutable_case_result();
  run.set_benchmark("tcp_bandwidth");
  run.set_outcome(v1::CASE_OUTCOME_OK);
  (*run.mutable_parameters())["bytes"] = "67108864";
  (*run.mutable_parameters())["direction"] = direction;
  run.mutable_provenance()->add_node_names(from);
  run.mutable_provenance()->add_node_names(to);
  v1::Measurement& measured = *run.add_measurements();
  measured.set_metric("bandwidth");
  measured.set_unit("GB/s");
  measured.set_direction(v1::DIRECTION_HIGHER_IS_BETTER);
  measured.set_median(median);
  measured.set_n(100);
  measured.set_ci_low(median * 0.99);
  measured.set_ci_high(median * 1.01);
  return stored;
}

v1::Job FailedJob(const std::string& a, const std::string& b) {
  v1::Job job;
  job.set_benchmark("tcp_bandwidth");
  job.set_state(v1::JOB_STATE_FAILED);
  job.add_node_names(a);
  job.add_node_names(b);
  job.mutable_failure()->set_reason("PEER_LOST");
  job.mutable_failure()->set_message("rank 1 is gone");
  return job;
}

// Every pair of nodes a, b, ... by a function of their names.
template <typename Value>
std::vector<v1::StoredResult> EveryPair(const std::string& nodes, Value value) {
  std::vector<v1::StoredResult> results;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (size_t j = i + 1; j < nodes.size(); ++j) {
      const std::string a(1, nodes[i]);
      const std::string b(1, nodes[j]);
      results.push_back(ResultOf(a, b, value(a, b)));
    }
  }
  return results;
}

TEST(PairsViewTest, NamesABadNodeBelowItsMatrix) {
  const auto results = EveryPair("abcd", [](const std::string& a, const std::string& b) {
    return a == "c" || b == "c" ? 0.285 : 0.5;
  });
  const auto cases = PairCases(results, {}, kThreshold);
  EXPECT_EQ(
      PairsText(cases, {}),
      "tcp_bandwidth 64MiB: bandwidth in GB/s between row and column\n"
      "NODE       a        b        c        d\n"
      "a          -   0.5000   0.2850!  0.5000\n"
      "b     0.5000        -   0.2850!  0.5000\n"
      "c     0.2850!  0.2850!       -   0.2850!\n"
      "d     0.5000   0.5000   0.2850!       -\n"
      "node c: 43% below the others on all of its 3 links\n"
      "\n"
      "!  of a node or link that is named\n"
      "\n"
      "To look at, the likeliest first:\n"
      "  node c: its cable, switch port and network card, and what else runs on it: it is bad "
      "with the others, and they are fine without it\n");
  EXPECT_TRUE(AnyBad(cases[0]));
}

TEST(PairsViewTest, NamesABadLink) {
  const auto results = EveryPair("abcde", [](const std::string& a, const std::string& b) {
    return a == "a" && b == "d" ? 0.345 : 0.5;
  });
  EXPECT_THAT(PairFindings(PairCases(results, {}, kThreshold)[0]),
              ElementsAre("link a-d: 31% below what both nodes reach elsewhere"));
}

TEST(PairsViewTest, SaysThatNothingStandsOut) {
  const auto results = EveryPair(
      "abcd", [](const std::string& a, const std::string&) { return a == "a" ? 0.49 : 0.5; });
  const auto cases = PairCases(results, {}, kThreshold);
  ASSERT_EQ(PairFindings(cases[0]).size(), 1U);
  EXPECT_THAT(PairFindings(cases[0])[0],
              HasSubstr("No node and no link stands out: 6 pairs of 4 nodes. Last are node a, 2.0% "
                        "below the median node, and link "));
  EXPECT_FALSE(AnyBad(cases[0]));
}

TEST(PairsViewTest, BothDirectionsAreOneMatrix) {
  auto results = EveryPair("abcd", [](const std::string&, const std::string&) { return 0.5; });
  for (const auto& one :
       EveryPair("abcd", [](const std::string&, const std::string&) { return 0.5; })) {
    v1::StoredResult back = one;
    v1::CaseResult& run = *back.mutable_case_result();
    (*run.mutable_parameters())["direction"] = "reverse";
    // Rank 1 sends: of pair a-b, node b.
    if (run.provenance().node_names(1) == "d") run.mutable_measurements(0)->set_median(0.2);
    results.push_back(back);
  }
  const auto cases = PairCases(results, {}, kThreshold);
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_THAT(PairsText(cases, {}), HasSubstr("bandwidth in GB/s from row to column"));
  EXPECT_THAT(PairFindings(cases[0]),
              ElementsAre(HasSubstr("node d: 60% below the others when it sends, on all of its 3 "
                                    "links")));
}

TEST(PairsViewTest, FewNodesAreNotJudged) {
  const auto two = EveryPair("ab", [](const std::string&, const std::string&) { return 0.5; });
  EXPECT_THAT(PairFindings(PairCases(two, {}, kThreshold)[0]),
              ElementsAre("A bad node cannot be told from a bad link with fewer than four nodes."));
  const auto three = EveryPair(
      "abc", [](const std::string&, const std::string& b) { return b == "c" ? 0.25 : 0.5; });
  const auto findings = PairFindings(PairCases(three, {}, kThreshold)[0]);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0], HasSubstr("is 50% below a-b. A bad node cannot be told"));
}

TEST(PairsViewTest, FailedPairsAreNamed) {
  auto results = EveryPair("abcd", [](const std::string&, const std::string&) { return 0.5; });
  results.erase(results.begin());  // a-b.
  const auto link = PairCases(results, {FailedJob("a", "b"), FailedJob("c", "d")}, kThreshold);
  EXPECT_THAT(PairFindings(link[0]),
              testing::Contains("link a-b: failed: PEER_LOST: rank 1 is gone"));
  // Of c and d there is a value: a repetition that worked.
  EXPECT_THAT(PairFindings(link[0]),
              testing::Contains("link c-d: one of its jobs failed: PEER_LOST: rank 1 is gone"));
  EXPECT_THAT(PairsText(link, {}), HasSubstr("a          -  failed  0.5000  0.5000\n"));
  EXPECT_TRUE(AnyBad(link[0]));

  const auto node = PairCases(
      results, {FailedJob("a", "e"), FailedJob("b", "e"), FailedJob("c", "e")}, kThreshold);
  EXPECT_THAT(PairFindings(node[0]),
              testing::Contains("node e: all of its 3 pairs failed: PEER_LOST: rank 1 is gone"));
  // No result at all.
  EXPECT_THAT(PairFindings(PairCases({}, {FailedJob("a", "b")}, kThreshold)[0]),
              ElementsAre("link a-b: failed: PEER_LOST: rank 1 is gone"));
}

TEST(PairsViewTest, RepetitionsCountByTheirMedianAndOtherResultsNot) {
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

TEST(PairsViewTest, CsvAndJsonCarryEverything) {
  auto results = EveryPair("abcd", [](const std::string& a, const std::string& b) {
    return a == "c" || b == "c" ? 0.25 : 0.5;
  });
  results.pop_back();
  const auto cases = PairCases(results, {FailedJob("c", "d")}, kThreshold);
  const std::string csv = PairsCsv(cases);
  EXPECT_THAT(csv, HasSubstr("tcp_bandwidth,64MiB,bandwidth,GB/s,a,b,0.5,"));
  EXPECT_THAT(csv, HasSubstr("GB/s,c,d,,,,PEER_LOST: rank 1 is gone,,,,failed,\r\n"));
  const auto json = nlohmann::json::parse(PairsJson(cases));
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["nodes"].size(), 4U);
  EXPECT_EQ(json[0]["pairs"].size(), 5U);
  EXPECT_EQ(json[0]["failures"][0]["from"], "c");
  EXPECT_EQ(PairsJson({}), "[]\n");
}

}  // namespace
}  // namespace assay::cli
