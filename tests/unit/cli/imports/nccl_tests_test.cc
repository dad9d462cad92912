// Reads nccl-tests' text and JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/imports/imports.h"
#include "tests/unit/cli/imports/files.h"
#include "tests/wording.h"

namespace assay::imports {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

// Returns the error's message; empty if `text` is accepted.
std::string NcclRefusal(const std::string& text, const Origin& origin = {}) {
  const auto read = ReadNcclTests(text, origin);
  if (read.ok()) return "";
  EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
  return read.status().message();
}

std::string WithoutLine(std::string text, const std::string& part) {
  const size_t begin = text.rfind('\n', text.find(part)) + 1;
  return text.erase(begin, text.find('\n', begin) + 1 - begin);
}

double MedianOf(const v1::CaseResult& result, const std::string& metric) {
  for (const v1::Measurement& one : result.measurements()) {
    if (one.metric() == metric) return one.median();
  }
  return 0;
}

TEST(NcclTestsTest, Text_Complete_BecomesResults) {
  const auto read = ReadNcclTests(kNcclText, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->provenance.imported_from(), "nccl-tests 2.17.6");
  EXPECT_EQ(read->environment.gpu_model(), "H100");
  EXPECT_EQ(read->environment.gpu_form_factor(), "SXM");
  EXPECT_EQ(read->environment.gpu_count(), 4);
  EXPECT_EQ(read->environment.node_count(), 2);
  EXPECT_EQ(read->environment.software().nccl(), "2.26.6");
  EXPECT_FALSE(read->environment.has_driver_version());
  ASSERT_EQ(read->results.size(), 6U);
  const v1::CaseResult& last = read->results[5];
  EXPECT_EQ(last.benchmark(), "all_reduce");
  EXPECT_EQ(last.outcome(), v1::CASE_OUTCOME_OK);
  const std::map<std::string, std::string> parameters(last.parameters().begin(),
                                                      last.parameters().end());
  EXPECT_EQ(parameters, (std::map<std::string, std::string>{{"aggregate", "1"},
                                                            {"bytes", "134217728"},
                                                            {"dtype", "fp32"},
                                                            {"in_place", "true"},
                                                            {"launch", "stream"},
                                                            {"nodes", "2"},
                                                            {"op", "sum"},
                                                            {"policy", "nccl_tests"},
                                                            {"ranks", "4"}}));
  ASSERT_EQ(last.measurements_size(), 3);
  EXPECT_EQ(last.measurements(0).metric(), "bus_bandwidth");
  EXPECT_EQ(last.measurements(0).n(), 1);
  EXPECT_EQ(last.measurements(0).method().batch(), 20);
  EXPECT_EQ(last.measurements(0).method().warmup_iterations(), 5);
  EXPECT_EQ(MedianOf(last, "bus_bandwidth"), 165);
  EXPECT_EQ(MedianOf(last, "algorithm_bandwidth"), 110);
  EXPECT_DOUBLE_EQ(MedianOf(last, "time"), 1220.2e-6);
  EXPECT_TRUE(last.verification().passed());
}

TEST(NcclTestsTest, Bandwidth_BelowOne_IsComputedFromSizeAndTime) {
  const auto read = ReadNcclTests(kNcclText, {});
  ASSERT_TRUE(read.ok()) << read.status();
  // 8 bytes in 23.10 us, printed as 0.00; the factor of all_reduce on 4 ranks is 1.5.
  EXPECT_NEAR(MedianOf(read->results[0], "algorithm_bandwidth"), 8 / 23.10e-6 / 1e9, 1e-9);
  EXPECT_NEAR(MedianOf(read->results[0], "bus_bandwidth"), 1.5 * 8 / 23.10e-6 / 1e9, 1e-9);
  EXPECT_NEAR(MedianOf(read->results[2], "algorithm_bandwidth"), 32768 / 40.96e-6 / 1e9, 1e-9);
  EXPECT_EQ(MedianOf(read->results[2], "bus_bandwidth"), 1.20);
}

TEST(NcclTestsTest, HostsUsersAndEnvironmentsAreNotStored) {
  for (const char* text : {kNcclText, kNcclJson}) {
    const auto read = ReadNcclTests(text, {});
    ASSERT_TRUE(read.ok()) << read.status();
    std::string all = read->environment.DebugString() + read->provenance.DebugString();
    for (const v1::CaseResult& result : read->results) all += result.DebugString();
    for (const char* secret : {"secret", "SECRET", "mlx5"}) {
      EXPECT_EQ(all.find(secret), std::string::npos) << secret;
    }
  }
}

TEST(NcclTestsTest, Origin_FillsWhatTheFileLacks) {
  Origin origin;
  origin.gpu = "H100 SXM";  // Another spelling of the GPU in the file.
  origin.driver = "580.95.05";
  origin.node = "rack-7";
  origin.time.emplace().set_seconds(1'767'225'600);
  const auto read = ReadNcclTests(kNcclText, origin);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->environment.driver_version(), "580.95.05");
  EXPECT_EQ(read->provenance.node_names(0), "rack-7");
  EXPECT_EQ(read->results[0].end_time().seconds(), 1'767'225'600);
  origin.gpu = "NVIDIA H100 PCIe";
  EXPECT_WORDING("cli/import-gpu-contradicts", NcclRefusal(kNcclText, origin));
}

TEST(NcclTestsTest, Gpu_OfSeveralKinds_MustBeSelected) {
  const std::string mixed =
      Replaced(kNcclText, "05:00] NVIDIA H100 80GB HBM3", "05:00] NVIDIA H200");
  EXPECT_NE(NcclRefusal(mixed), "");
  Origin origin;
  origin.gpu = "NVIDIA H200";
  EXPECT_EQ(NcclRefusal(mixed, origin), "");
}

TEST(NcclTestsTest, Settings_ThatChangeTheMeasurement_AreParameters) {
  std::string text = Replaced(kNcclText, "graph: 0", "graph: 1 unalign: 4");
  text = Replaced(text, "agg iters: 1", "agg iters: 4");
  text = Replaced(text, "# Using devices",
                  "# Blocking Enabled: wait for completion (no barrier)\n# Using devices");
  const auto read = ReadNcclTests(text, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->results[0].parameters(), Contains(Pair("blocking", "no_barrier")));
  EXPECT_THAT(read->results[0].parameters(), Contains(Pair("launch", "graph")));
  EXPECT_THAT(read->results[0].parameters(), Contains(Pair("aggregate", "4")));
  EXPECT_THAT(read->results[0].parameters(), Contains(Pair("unalign", "4")));
}

TEST(NcclTestsTest, Json_BecomesResults_WrongElementsFail) {
  const auto read = ReadNcclTests(kNcclJson, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->provenance.imported_from(), "nccl-tests, JSON version 1");
  EXPECT_EQ(read->environment.gpu_count(), 4);
  EXPECT_EQ(read->environment.software().nccl(), "2.28.9");
  ASSERT_EQ(read->results.size(), 4U);
  EXPECT_EQ(read->results[0].benchmark(), "all_gather");
  EXPECT_DOUBLE_EQ(MedianOf(read->results[0], "bus_bandwidth"), 0.0768);
  EXPECT_EQ(read->results[1].outcome(), v1::CASE_OUTCOME_FAILED);
  EXPECT_EQ(read->results[1].failure().reason(), v1::REASON_VERIFICATION_FAILED);
  EXPECT_EQ(read->results[1].measurements_size(), 0);
  EXPECT_FALSE(read->results[1].verification().passed());
  EXPECT_FALSE(read->results[2].has_verification());
  EXPECT_THAT(read->results[2].conditions().flags(), ElementsAre("unverified"));
}

TEST(NcclTestsTest, Rooted_ResultsHaveTheirRoot) {
  // reduce_perf: busbw equals algbw, and rows have a root.
  std::string text = Replaced(kNcclText, "all_reduce_perf", "reduce_perf");
  for (const auto& [from, to] : {std::pair("1.20  ", "0.80  "),
                                 {"1.50  ", "1.00  "},
                                 {"150.00 ", "100.00 "},
                                 {"165.00 ", "110.00 "},
                                 {"bandwidth    : 52.95", "bandwidth    : 35.30"}}) {
    text = Replaced(text, from, to);
  }
  for (int row = 0; row < 3; ++row) text = Replaced(text, "      -1", "       0");
  const auto read = ReadNcclTests(text, {});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->results.size(), 6U);
  EXPECT_EQ(read->results[0].benchmark(), "reduce");
  EXPECT_EQ(read->results[0].parameters().at("root"), "0");
}

TEST(NcclTestsTest, SingleRank_HasNoBusBandwidth) {
  std::string text = Replaced(kNcclJson, "\"ngpus\":4", "\"ngpus\":1");
  text =
      Replaced(Replaced(text, "\"count\":64", "\"count\":256"), "\"count\":128", "\"count\":512");
  for (const char* bus : {"0.076800", "0.096000", "0.153600", "0.192000", "0.129600"}) {
    text = Replaced(text, bus, "0");
  }
  const auto read = ReadNcclTests(text, {});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->results[0].measurements_size(), 2);
  EXPECT_EQ(read->results[0].measurements(0).metric(), "algorithm_bandwidth");
}

TEST(NcclTestsTest, Rows_OfZeroBytes_AreLeftOut) {
  std::string text = Replaced(kNcclJson, R"("size":1024,"count":64)", R"("size":0,"count":0)");
  for (const char* number : {"0.102400", "0.076800", "0.128000", "0.096000"}) {
    text = Replaced(text, number, "0");
  }
  text = Replaced(Replaced(text, "0.129600", "0.0864"), "{\"count\":3", "{\"count\":3");
  const auto read = ReadNcclTests(text, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->results.size(), 2U);
}

TEST(NcclTestsTest, File_CutShortAnywhere_IsRefused) {
  const std::string text = kNcclText;
  const size_t complete = text.find("52.95") + 4;
  for (size_t length = 0; length < complete; ++length) {
    EXPECT_NE(NcclRefusal(text.substr(0, length)), "") << length;
  }
  const std::string json = kNcclJson;
  for (size_t length = 0; length < json.size(); ++length) {
    EXPECT_NE(NcclRefusal(json.substr(0, length)), "") << length;
  }
  EXPECT_WORDING("cli/import-cut-text", NcclRefusal(text.substr(0, text.find("# Out of"))));
  EXPECT_WORDING("cli/import-cut-json", NcclRefusal(json.substr(0, json.size() / 2)));
  EXPECT_NE(NcclRefusal(text.substr(0, text.find("# Out of")) + text), "");
  EXPECT_NE(NcclRefusal(text + text), "");
}

TEST(NcclTestsTest, File_WithAContradiction_IsRefused) {
  const std::string text = kNcclText;
  const std::string json = kNcclJson;
  const std::vector<std::pair<const char*, std::string>> damaged = {
      {"a row is missing", WithoutLine(text, "       32768")},
      {"a rank is missing", WithoutLine(text, "Rank  1")},
      {"the last rank is missing", WithoutLine(text, "Rank  3")},
      {"a process is incomplete", Replaced(text, "nThread 1 nGpus 1", "nThread 2 nGpus 4")},
      {"the settings are missing", WithoutLine(text, "nThread")},
      {"the version is missing", WithoutLine(text, "nccl-tests version")},
      {"the test's name is missing", WithoutLine(text, "starting:")},
      {"a word is missing", Replaced(text, "165.00       0", "165.00")},
      {"a bandwidth changed", Replaced(text, "  165.00 ", "  195.00 ")},
      {"the count changed", Replaced(text, "  8192     float", "  8191     float")},
      {"the type changed", Replaced(text, "8192     float", "8192    double")},
      {"the time changed", Replaced(text, "   40.96 ", "   41.96 ")},
      {"a time of 0", Replaced(text, "  1342.2 ", "    0.00 ")},
      {"#wrong only in the row", Replaced(text, "165.00       0", "165.00       5")},
      {"#wrong only in the summary", Replaced(text, "values : 0 OK", "values : 4 FAILED")},
      {"a root beyond the ranks", Replaced(text, "sum      -1", "sum       9")},
      {"an unknown type", Replaced(text, "     float", "   float96")},
      {"an unknown reduction", Replaced(text, "   sum ", "   xor ")},
      {"an unknown test", Replaced(text, "starting: all_reduce", "starting: hypercube")},
      {"an unknown version", Replaced(text, "version 2.17.6", "version 3.0.1")},
      {"an impossible version", Replaced(text, "library=22606", "library=99999999999")},
      {"the host's times", Replaced(text, "    time ", " cputime ")},
      {"ranks in groups", Replaced(text, "Rank  2 Group  0", "Rank  2 Group  1")},
      {"a control character", Replaced(text, "Using devices", "Using \x1b[31m")},
      {"a number with a sign", Replaced(text, "  165.00 ", "  -165.00 ")},
      {"a number beyond 1e15", Replaced(text, "  165.00 ", "  1e16 ")},
      {"a JSON count changed", Replaced(json, "\"count\":128", "\"count\":127")},
      {"a JSON device is missing", Replaced(json, "\"rank\":0", "\"rank\":4")},
      {"too many ranks", Replaced(json, "\"ngpus\":4", "\"ngpus\":4097")},
      {"a JSON of another version", Replaced(json, "\"version\":1", "\"version\":3")},
      {"a JSON of another shape", "{\"version\":1,\"args\":{}}"},
      {"a number that is none", Replaced(json, "\"bus_bw\":0.076800", "\"bus_bw\":\"nan\"")},
      {"deep JSON", "{\"a\":" + std::string(100'000, '[')},
      {"too large", std::string(kMaxFileBytes + 1, '\n')},
      {"another program's JSON", kNvbandwidthJson},
      {"an empty file", ""}};
  for (const auto& [what, file] : damaged) EXPECT_NE(NcclRefusal(file), "") << what;
  EXPECT_WORDING("cli/import-lost-row", NcclRefusal(damaged[0].second));
  EXPECT_WORDING("cli/import-json-path", NcclRefusal(damaged[31].second));
}

// Whether a damaged file is refused or accepted, reading it does not crash, and its numbers are
// positive.
TEST(NcclTestsTest, File_WithAnyByteChanged_IsRefusedOrSound) {
  for (const std::string text : {kNcclText, kNcclJson}) {
    for (size_t at = 0; at < text.size(); ++at) {
      for (const char changed : {'\0', '9', '"'}) {
        std::string damaged = text;
        damaged[at] = changed;
        const auto read = ReadNcclTests(damaged, {});
        if (!read.ok()) continue;
        for (const v1::CaseResult& result : read->results) {
          for (const auto& one : result.measurements()) ASSERT_GT(one.median(), 0) << damaged;
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay::imports
