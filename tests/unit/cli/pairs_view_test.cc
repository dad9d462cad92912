#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/views/pairs_view.h"
#include "cli/views/result_marks.h"
#include "tests/unit/analysis/pair_results.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

using analysis::EveryPair;
using analysis::FailedJob;
using analysis::PairReport;
using analysis::ResultOf;

PairReport MakeReport(const std::vector<v1::StoredResult>& results,
                      const std::vector<v1::Job>& jobs = {}) {
  return analysis::MakePairReport(results, jobs, {"", 0.1, DoubtsOf}).value();
}

// A fleet in which node c is slow, link a-b is slower, and e fails with every other node.
PairReport Troubled() {
  auto results = EveryPair("abcdf", [](const std::string& a, const std::string& b) {
    return a == "a" && b == "b" ? 0.1 : a == "c" || b == "c" ? 0.285 : 0.5;
  });
  results[0].mutable_case_result()->mutable_conditions()->add_flags("throttled");
  results[0].mutable_case_result()->mutable_conditions()->add_flags("busy_host");
  for (auto one : EveryPair("abcd", [](const auto&, const auto&) { return 0.5; })) {
    (*one.mutable_case_result()->mutable_parameters())["bytes"] = "1024";
    results.push_back(one);
  }
  return MakeReport(results, {FailedJob("a", "e"), FailedJob("b", "e"), FailedJob("d", "f")});
}

TEST(PairsView, Text_NamesWhatIsBadAndWhatToCheck) {
  EXPECT_WORDING("views/pairs-troubled", PairsText(Troubled(), {}));
  EXPECT_WORDING("views/pairs-80-columns", PairsText(Troubled(), {80, false}));
}

TEST(PairsView, Text_SaysWhatLeavesTheVerdictOpen) {
  auto noisy = EveryPair("abcde", [](const std::string& a, const std::string& b) {
    return (a[0] + 2 * b[0]) % 3 == 0 ? 1.1 : (a[0] + 2 * b[0]) % 3 == 1 ? 0.9 : 1.0;
  });
  EXPECT_WORDING("views/pairs-noisy", PairsText(MakeReport(noisy), {}));
  // The links differ by more than the repetitions of each: another run would show the same.
  auto repeated = noisy;
  repeated.insert(repeated.end(), noisy.begin(), noisy.end());
  EXPECT_WORDING("views/pairs-noisy-links",
                 PairsText(MakeReport(repeated), {}));
  noisy.resize(4);
  EXPECT_WORDING("views/pairs-missing", PairsText(MakeReport(noisy), {}));
  auto uncertain = EveryPair("abcde", [](const std::string& a, const std::string& b) {
    return a == "a" && b == "d" ? 0.35 : 0.5;
  });
  v1::Measurement& measured = *uncertain[2].mutable_case_result()->mutable_measurements(0);
  measured.set_ci_low(0.2);
  measured.set_ci_high(0.5);
  EXPECT_WORDING("views/pairs-uncertain", PairsText(MakeReport(uncertain), {}));
}

TEST(PairsView, Text_ShowsCountsAsCounts) {
  auto counts = EveryPair(
      "abcd", [](const std::string& a, const std::string&) { return a == "a" ? 4.0 : 0.0; });
  for (v1::StoredResult& result : counts) {
    v1::Measurement& measured = *result.mutable_case_result()->mutable_measurements(0);
    measured.set_metric("retransmits");
    measured.set_unit("segments");
    measured.set_direction(v1::DIRECTION_LOWER_IS_BETTER);
  }
  EXPECT_WORDING("views/pairs-counts", PairsText(MakeReport(counts), {}));
}

TEST(PairsView, Csv_HasARecordPerPair) {
  const std::string csv = PairsCsv(Troubled());
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 15 + 15);
  EXPECT_NE(csv.find(",a,b,0.1,0.099,0.101,1,0.5,bad_link,busy_host;throttled,\r\n"),
            std::string::npos)
      << csv;
  EXPECT_NE(csv.find(",a,e,,,,,,failed,,PEER_LOST: rank 1 is gone\r\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find(",c,e,,,,,,missing,,\r\n"), std::string::npos) << csv;
}

TEST(PairsView, Json_HasVerdictsFailuresAndSuspects) {
  const auto json = nlohmann::json::parse(PairsJson(Troubled()));
  EXPECT_EQ(json["verdict"], "bad");
  ASSERT_EQ(json["cases"].size(), 2U);
  EXPECT_EQ(json["cases"][0]["verdict"], "undecided");
  const auto& one = json["cases"][1];
  EXPECT_EQ(one["verdict"], "bad");
  EXPECT_EQ(one["pairs"].size(), 10U);
  EXPECT_EQ(one["pairs"][0]["verdict"], "bad_link");
  EXPECT_EQ(one["pairs"][0]["flags"], nlohmann::json::parse(R"(["busy_host", "throttled"])"));
  EXPECT_EQ(one["bad_nodes"][0]["node"], "c");
  EXPECT_EQ(one["bad_links"][0]["to"], "b");
  EXPECT_EQ(one["uncertain_links"].size(), 0U);
  EXPECT_EQ(json["failures"].size(), 3U);
  EXPECT_EQ(json["suspects"][0]["kind"], "node");
  EXPECT_EQ(json["suspects"][0]["nodes"], nlohmann::json::parse(R"(["e"])"));
  EXPECT_EQ(nlohmann::json::parse(PairsJson({}))["verdict"], "undecided");
}

}  // namespace
}  // namespace assay::cli
