#include "cli/views/pairs_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/cli/pair_results.h"

namespace assay::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kThreshold = 0.1;

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
      "  node c: its cable, switch port or network card, or what else runs on it. It is bad with "
      "the others; they are fine without it\n");
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
  EXPECT_THAT(
      PairFindings(cases[0])[0],
      HasSubstr("No node and no link stands out: 6 pairs of 4 nodes. The worst are node a, 2.0% "
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
  // Messages that differ by the other node are told once.
  v1::Job other = FailedJob("a", "e");
  other.mutable_failure()->set_message("rank 0 is gone");
  const auto differ =
      PairCases(results, {other, FailedJob("b", "e"), FailedJob("c", "e")}, kThreshold);
  EXPECT_THAT(PairFindings(differ[0]),
              testing::Contains("node e: all of its 3 pairs failed: PEER_LOST (3 pairs), for "
                                "example a-e: rank 0 is gone"));
  // No result at all.
  EXPECT_THAT(PairFindings(PairCases({}, {FailedJob("a", "b")}, kThreshold)[0]),
              ElementsAre("link a-b: failed: PEER_LOST: rank 1 is gone"));
}

TEST(PairsViewTest, CsvAndJsonCarryEverything) {
  auto results = EveryPair("abcd", [](const std::string& a, const std::string& b) {
    return a == "c" || b == "c" ? 0.25 : 0.5;
  });
  results.pop_back();
  const auto cases = PairCases(results, {FailedJob("c", "d")}, kThreshold);
  const std::string csv = PairsCsv(cases);
  EXPECT_THAT(csv, HasSubstr("tcp_bandwidth,64MiB,bandwidth,GB/s,a,b,0.5,"));
  EXPECT_THAT(csv, HasSubstr("GB/s,c,d,,,,PEER_LOST: rank 1 is gone,,,,failed,,partial\r\n"));
  const auto json = nlohmann::json::parse(PairsJson(cases));
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["nodes"].size(), 4U);
  EXPECT_EQ(json[0]["pairs"].size(), 5U);
  EXPECT_EQ(json[0]["failures"][0]["from"], "c");
  EXPECT_EQ(PairsJson({}), "[]\n");
}

// Both directions of every pair, by a function of sender and receiver.
template <typename Value>
std::vector<v1::StoredResult> BothWays(const std::string& nodes, Value value) {
  auto results = EveryPair(nodes, value);
  for (const auto& one : EveryPair(nodes, value)) {
    const auto& names = one.case_result().provenance().node_names();
    results.push_back(ResultOf(names[0], names[1], value(names[1], names[0]), "reverse"));
  }
  return results;
}

double Same(const std::string& /*from*/, const std::string& /*to*/) { return 0.5; }

v1::CaseResult& RunOf(std::vector<v1::StoredResult>& results, const std::string& a,
                      const std::string& b) {
  for (v1::StoredResult& result : results) {
    const auto& names = result.case_result().provenance().node_names();
    if (names[0] == a && names[1] == b) return *result.mutable_case_result();
  }
  ADD_FAILURE() << a << "-" << b;
  return *results.front().mutable_case_result();
}

TEST(PairsViewTest, FlaggedValuesAreMarkedAndExplained) {
  auto results = EveryPair(
      "abcde", [](const std::string& a, const std::string&) { return a == "a" ? 0.25 : 0.5; });
  for (v1::StoredResult& result : results) {
    v1::CaseResult& run = *result.mutable_case_result();
    run.mutable_conditions()->add_flags("busy_host");
    if (run.provenance().node_names(0) == "a") run.mutable_conditions()->add_flags("throttled");
  }
  RunOf(results, "b", "c").mutable_conditions()->add_flags("unsettled");
  const std::string text = PairsText(PairCases(results, {}, kThreshold), {});
  EXPECT_THAT(text, HasSubstr("between row and column, all B\n"));
  EXPECT_THAT(text, HasSubstr("\nb     0.2500!T       -    0.5000U   0.5000    0.5000\n"));
  EXPECT_THAT(text, HasSubstr("node a: 50% below the others on all of its 4 links (flagged "
                              "throttled)\n"));
  EXPECT_THAT(text, HasSubstr("\nT  throttled: heat, power or a fault"));
  EXPECT_THAT(text, HasSubstr("\nU  unsettled: "));
  EXPECT_THAT(text, HasSubstr("\nB  busy_host: "));
}

TEST(PairsViewTest, AnUncertainValueIsMarkedAndNotCalledBad) {
  auto results = EveryPair("abcde", Same);
  v1::Measurement& measured = *RunOf(results, "a", "d").mutable_measurements(0);
  measured.set_median(0.35);
  measured.set_ci_low(0.2);
  measured.set_ci_high(0.5);
  auto cases = PairCases(results, {}, kThreshold);
  EXPECT_FALSE(AnyBad(cases[0]));
  EXPECT_THAT(PairFindings(cases[0]),
              ElementsAre("link a-d: perhaps 30% below what both nodes reach elsewhere (flagged "
                          "noisy), but the 95% interval of its own value is 0.2000 to 0.5000 GB/s: "
                          "measure it again"));
  EXPECT_THAT(PairsText(cases, {}), HasSubstr("0.3500?N"));
  EXPECT_THAT(PairsText(cases, {}), HasSubstr("\n?  bad if it were certain: measure it again\n"));
  // Below six samples there is no interval.
  measured.set_n(5);
  EXPECT_THAT(PairFindings(PairCases(results, {}, kThreshold)[0]),
              ElementsAre(HasSubstr("but it is a single number without an interval: measure")));
}

TEST(PairsViewTest, AZeroIsShownAndTheWorst) {
  const auto zero = EveryPair("abcde", [](const std::string& a, const std::string& b) {
    return a == "a" && b == "d" ? 0.0 : 0.5;
  });
  const auto cases = PairCases(zero, {}, kThreshold);
  EXPECT_THAT(PairsText(cases, {}), HasSubstr("       0!"));
  EXPECT_THAT(PairFindings(cases[0]),
              ElementsAre("link a-d: 100% below what both nodes reach elsewhere"));
  EXPECT_THAT(PairsCsv(cases), HasSubstr(",a,d,0,0.5,0,,"));

  auto counts = EveryPair("abcd", [](const std::string&, const std::string&) { return 0.0; });
  for (v1::StoredResult& result : counts) {
    v1::Measurement& measured = *result.mutable_case_result()->mutable_measurements(0);
    measured.set_metric("retransmits");
    measured.set_unit("segments");
    measured.set_direction(v1::DIRECTION_LOWER_IS_BETTER);
  }
  EXPECT_THAT(PairFindings(PairCases(counts, {}, kThreshold)[0]),
              ElementsAre("No node and no link stands out: 6 pairs of 4 nodes. All have 0 "
                          "segments."));
  for (const char* const other : {"b", "c", "d"}) {
    RunOf(counts, "a", other).mutable_measurements(0)->set_median(4);
  }
  EXPECT_THAT(PairFindings(PairCases(counts, {}, kThreshold)[0]),
              testing::Contains(HasSubstr("node a: 4 segments above the others on all of its 3 "
                                          "links")));
}

// "900% above the others" says nothing of segments that were sent again.
TEST(PairsViewTest, CountsStayCountsWhereNoneIsZero) {
  const auto counts = [](const std::string& nodes, double bad) {
    auto results = EveryPair(nodes, [&](const std::string& a, const std::string& b) {
      return a == "a" ? bad : b == "c" ? 2.5 : 2.0;
    });
    for (v1::StoredResult& result : results) {
      v1::Measurement& measured = *result.mutable_case_result()->mutable_measurements(0);
      measured.set_metric("retransmits");
      measured.set_unit("segments");
      measured.set_direction(v1::DIRECTION_LOWER_IS_BETTER);
    }
    return PairCases(results, {}, kThreshold);
  };
  const auto five = counts("abcde", 20);
  EXPECT_EQ(PairFindings(five[0])[0], "node a: 18 segments above the others on all of its 4 links");
  EXPECT_THAT(PairsText(five, {}), HasSubstr("\nb     20!    -   2.5    2    2\n"));
  EXPECT_EQ(PairFindings(counts("abcde", 3)[0])[0],
            "node a: 1 segment above the others on all of its 4 links");
  EXPECT_THAT(PairFindings(counts("abd", 2)[0]),
              ElementsAre(HasSubstr("All have 2 segments. A bad")));
  EXPECT_THAT(PairFindings(counts("abc", 20)[0]),
              ElementsAre(HasSubstr("a-c is 17.5 segments above b-c. ")));
}

TEST(PairsViewTest, AMissingDirectionIsSaidAndTheOthersStayApart) {
  auto results = BothWays("abcde", [](const std::string& from, const std::string&) {
    return from == "d" ? 0.25 : 0.5;
  });
  std::erase_if(results, [](const v1::StoredResult& result) {
    const v1::CaseResult& run = result.case_result();
    return run.provenance().node_names(0) == "b" && run.provenance().node_names(1) == "c" &&
           run.parameters().at("direction") == "reverse";
  });
  const auto cases = PairCases(results, {}, kThreshold);
  EXPECT_THAT(PairFindings(cases[0]),
              ElementsAre("node d: 50% below the others when it sends, on all of its 4 links",
                          "Judged in part: 19 of 20 directions are measured. No job is to "
                          "measure the rest any more: submit the campaign again.",
                          "Not measured: c to b."));
  EXPECT_THAT(PairsCsv(cases), HasSubstr(",c,b,,,,,,,,missing,,partial\r\n"));
  EXPECT_EQ(nlohmann::json::parse(PairsJson(cases))[0]["missing"],
            nlohmann::json::parse(R"([{"from": "c", "to": "b"}])"));
}

// A result without a metric, as a case that failed leaves it.
v1::StoredResult FailedCaseOf(const std::string& a, const std::string& b,
                              const std::string& direction = "unidirectional") {
  v1::StoredResult failed = ResultOf(a, b, 0, direction);
  v1::CaseResult& run = *failed.mutable_case_result();
  run.clear_measurements();
  run.set_outcome(v1::CASE_OUTCOME_FAILED);
  run.set_job_id("job-" + a + b);
  run.mutable_failure()->set_reason("VERIFICATION_FAILED");
  return failed;
}

TEST(PairsViewTest, AFailedCaseIsAFailureOfItsCaseAlone) {
  auto results = EveryPair("abcd", Same);
  RunOf(results, "a", "b") = FailedCaseOf("a", "b").case_result();
  for (const auto& one : EveryPair("abcd", Same)) {
    results.push_back(one);
    (*results.back().mutable_case_result()->mutable_parameters())["bytes"] = "1024";
    results.back().mutable_case_result()->set_job_id("job-ab");
  }
  v1::Job job = FailedJob("a", "b");
  job.set_job_id("job-ab");
  const auto cases = PairCases(results, {job}, kThreshold);
  ASSERT_EQ(cases.size(), 2U);
  EXPECT_TRUE(cases[0].failures.empty());
  EXPECT_THAT(PairFindings(cases[1]), testing::Contains("link a-b: failed: VERIFICATION_FAILED"));
  // All that there is of its job.
  EXPECT_EQ(PairCases({FailedCaseOf("a", "b")}, {job}, kThreshold).size(), 1U);
  // A job that ended between its cases: the first has a value.
  std::erase_if(results, [](const v1::StoredResult& result) {
    return result.case_result().measurements().empty();
  });
  const auto ended = PairCases(results, {job}, kThreshold);
  EXPECT_TRUE(ended[0].failures.empty());
  EXPECT_THAT(PairFindings(ended[1]),
              testing::Contains("link a-b: failed: PEER_LOST: rank 1 is gone"));
}

TEST(PairsViewTest, AFailureOfOneDirectionIsOfThatDirection) {
  auto results = BothWays("abcde", Same);
  std::erase_if(results, [](const v1::StoredResult& result) {
    const v1::CaseResult& run = result.case_result();
    return run.provenance().node_names(0) == "b" && run.provenance().node_names(1) == "c" &&
           run.parameters().at("direction") == "reverse";
  });
  // By the case that failed, and by the job of which nothing else is known.
  auto with_case = results;
  with_case.push_back(FailedCaseOf("b", "c", "reverse"));
  for (const auto& cases : {PairCases(with_case, {}, kThreshold),
                            PairCases(results, {FailedJob("b", "c")}, kThreshold)}) {
    ASSERT_EQ(cases[0].failures.size(), 1U);
    EXPECT_THAT(PairFindings(cases[0])[0], HasSubstr("link c-b: failed from c to b: "));
    EXPECT_TRUE(cases[0].missing.empty());
    EXPECT_TRUE(AnyBad(cases[0]));
  }
}

TEST(PairsViewTest, WhatToLookAtSumsUpTheCases) {
  const auto slow_c = [](const std::string& a, const std::string& b) {
    return a == "c" || b == "c" ? 0.25 : 0.5;
  };
  auto results = EveryPair("abcde", slow_c);
  RunOf(results, "a", "b").mutable_measurements(0)->set_median(0.1);
  for (auto one : EveryPair("abcde", slow_c)) {
    (*one.mutable_case_result()->mutable_parameters())["bytes"] = "1024";
    results.push_back(one);
  }
  const auto cases = PairCases(results, {}, kThreshold);
  const std::string text = PairsText(cases, {});
  EXPECT_THAT(text, HasSubstr("\n  node c, in all 2 cases: its cable, "));
  EXPECT_THAT(text, HasSubstr("\n  link a-b, in 1 of 2 cases (tcp_bandwidth 64MiB): what lies"));
  const auto json = nlohmann::json::parse(PairsJson(cases));
  EXPECT_EQ(json[0]["look_at"].size() + json[1]["look_at"].size(), 3U);
  EXPECT_EQ(json[0]["look_at"][0]["name"], "node c");
  EXPECT_EQ(json[0]["look_at"][0]["in_cases"], 2);
}

TEST(PairsViewTest, MachinesGetIntervalsVerdictsAndFlags) {
  auto results = EveryPair(
      "abcde", [](const std::string& a, const std::string&) { return a == "a" ? 0.25 : 0.5; });
  RunOf(results, "a", "b").mutable_conditions()->add_flags("throttled");
  RunOf(results, "a", "b").mutable_conditions()->add_flags("busy_host");
  const auto cases = PairCases(results, {}, kThreshold);
  EXPECT_THAT(PairsCsv(cases),
              HasSubstr("a,b,0.25,0.25,1,,0.2475,0.2525,1,bad_node,busy_host;throttled,whole\r\n"));
  const auto pair = nlohmann::json::parse(PairsJson(cases))[0]["pairs"][0];
  EXPECT_EQ(pair["ci_low"], 0.2475);
  EXPECT_EQ(pair["verdict"], "bad_node");
  EXPECT_EQ(pair["flags"], nlohmann::json::parse(R"(["busy_host", "throttled"])"));
}

v1::Job QueuedJob(const std::string& a, const std::string& b) {
  v1::Job job = FailedJob(a, b);
  job.clear_failure();
  job.set_state(v1::JOB_STATE_QUEUED);
  return job;
}

TEST(PairsViewTest, AHalfDoneCampaignIsNoAllClear) {
  const std::vector<v1::StoredResult> two = {ResultOf("a", "b", 0.5), ResultOf("c", "d", 0.2)};
  const auto running =
      PairCases(two, {QueuedJob("a", "c"), QueuedJob("b", "d"), QueuedJob("a", "e")}, kThreshold);
  EXPECT_EQ(JudgementOf(running[0]), PairJudgement::kNone);
  EXPECT_FALSE(AnyBad(running[0]));
  EXPECT_EQ(
      PairFindings(running[0])[0],
      "c-d is 60% below a-b. Cannot judge: 2 of 10 pairs are measured, and a node takes three "
      "of its links, a link two such nodes. Wait for the campaign to end: 3 jobs are still to "
      "be done.");
  const auto json = nlohmann::json::parse(PairsJson(running))[0];
  EXPECT_EQ(json["judged"], false);
  EXPECT_EQ(json["judgement"], "none");
  EXPECT_EQ(json["waiting_jobs"], 3);
  EXPECT_EQ(json["missing"].size(), 8U);
  EXPECT_THAT(PairsCsv(running), HasSubstr("1,unjudged,,none\r\n"));
  EXPECT_THAT(PairsCsv(running), HasSubstr(",a,e,,,,,,,,missing,,none\r\n"));
  // One node has three links, and no link has two such nodes.
  const auto ended = PairCases({ResultOf("a", "b", 0.5), ResultOf("a", "c", 0.5),
                                ResultOf("a", "d", 0.5), ResultOf("b", "c", 0.2)},
                               {}, kThreshold);
  EXPECT_THAT(PairFindings(ended[0])[0],
              HasSubstr("Cannot judge: 4 of 6 pairs are measured, and a node takes three of its "
                        "links, a link two such nodes. No job is to measure the rest any more: "
                        "submit the campaign again."));
  EXPECT_THAT(PairsText(ended, {}), testing::Not(HasSubstr("stands out")));
}

TEST(PairsViewTest, WhatIsJudgedInPartSaysSo) {
  auto results = EveryPair("abcde", Same);
  EXPECT_EQ(JudgementOf(PairCases(results, {}, kThreshold)[0]), PairJudgement::kWhole);
  results.push_back(ResultOf("a", "f", 0.1));
  const auto cases = PairCases(results, {QueuedJob("b", "f")}, kThreshold);
  EXPECT_EQ(JudgementOf(cases[0]), PairJudgement::kPartial);
  EXPECT_THAT(
      PairFindings(cases[0]),
      ElementsAre("Judged in part: 11 of 15 pairs are measured, fewer than three of the links of "
                  "node f. Wait for the campaign to end: 1 job is still to be done.",
                  testing::StartsWith("Of what can be judged, no node and no link stands out: 10 "
                                      "pairs of 5 nodes."),
                  "Not measured: b-f, c-f, d-f, e-f."));
  EXPECT_EQ(nlohmann::json::parse(PairsJson(cases))[0]["judgement"], "partial");
}

TEST(PairsViewTest, NoiseThatHidesMuchIsToldInWordsThatMeanSomething) {
  PairCase measured = PairCases(EveryPair("abcde", Same), {}, kThreshold)[0];
  ASSERT_TRUE(measured.analysis.last_link);
  const auto told = [&](bool higher, double node, double link) {
    measured.higher_is_better = higher;
    measured.analysis.noise = 0.5;
    measured.analysis.node_limit = node;
    measured.analysis.link_limit = link;
    return PairFindings(measured).back();
  };
  const std::string scatter = "Pairs scatter by up to 50.0%, so that ";
  EXPECT_EQ(told(true, 0.75, 0.94),
            scatter +
                "a node is named from 75% on and a link from 94% on only; more "
                "`repetitions` in the campaign tell smaller ones.");
  EXPECT_EQ(told(true, 0.75, 0.996),
            scatter +
                "a node is named from 75% on only and no link; more `repetitions` in the "
                "campaign tell smaller ones.");
  EXPECT_EQ(told(true, 0.999, 1.2),
            scatter +
                "no node and no link can be named; more `repetitions` in the campaign tell "
                "them.");
  EXPECT_EQ(told(false, 4.22, 26.04),
            scatter +
                "a node is named from 422% on and a link from 27 times the others' on only; "
                "more `repetitions` in the campaign tell smaller ones.");
  EXPECT_THAT(told(false, 1e5, 1e10), HasSubstr("no node and no link can be named"));
  measured.unit = "segments";
  measured.analysis.additive = true;
  EXPECT_EQ(told(false, 2, 1234.5),
            "Pairs scatter by up to 0.5 segments, so that a node is named from 2 segments on and a "
            "link from 1234 segments on only; more `repetitions` in the campaign tell smaller "
            "ones.");
}

TEST(PairsViewTest, AnUnknownMetricIsToldTheKnownOnes) {
  const std::vector<v1::StoredResult> results = {ResultOf("a", "b", 1)};
  EXPECT_TRUE(CheckPairMetric(results, "net", "bandwidth").ok());
  EXPECT_TRUE(CheckPairMetric({}, "net", "latency").ok());
  const Status status = CheckPairMetric(results, "net", "latency");
  EXPECT_EQ(status.reason(), "UNKNOWN_METRIC");
  EXPECT_THAT(status.message(), HasSubstr("campaign \"net\" has the metric \"latency\""));
  ASSERT_EQ(status.violations().size(), 1U);
  EXPECT_EQ(status.violations()[0].field, "tcp_bandwidth");
  EXPECT_EQ(status.violations()[0].description, "has bandwidth");
  EXPECT_EQ(CheckPairMetric(results, "net", "bandwith").hint(), "did you mean bandwidth?");
}

}  // namespace
}  // namespace assay::cli
