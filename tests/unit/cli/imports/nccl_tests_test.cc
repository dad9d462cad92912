// nccl-tests' text and JSON as results.
#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/imports/imports.h"
#include "tests/unit/cli/imports/files.h"

namespace assay::imports {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// What is refused, with the reason for it.
std::string Refusal(const std::string& text, const Origin& origin = {}) {
  const auto read = ReadNcclTests(text, origin);
  if (read.ok()) return "taken";
  EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
  return read.status().message() + read.status().hint();
}

TEST(NcclTestsTest, TextBecomesResults) {
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
  EXPECT_EQ(last.measurements(0).median(), 165);
  EXPECT_EQ(last.measurements(0).n(), 1);
  EXPECT_EQ(last.measurements(0).method().batch(), 20);
  EXPECT_EQ(last.measurements(1).metric(), "algorithm_bandwidth");
  EXPECT_EQ(last.measurements(2).unit(), "s");
  EXPECT_DOUBLE_EQ(last.measurements(2).median(), 1220.2e-6);
  EXPECT_TRUE(last.verification().passed());
  EXPECT_EQ(read->results[4].parameters().at("in_place"), "false");
  EXPECT_EQ(read->results[4].measurements(0).median(), 150);
}

TEST(NcclTestsTest, HostsUsersAndEnvironmentsAreNotKept) {
  for (const char* text : {kNcclText, kNcclJson}) {
    const auto read = ReadNcclTests(text, {});
    ASSERT_TRUE(read.ok()) << read.status();
    std::string all = read->environment.DebugString() + read->provenance.DebugString();
    for (const v1::CaseResult& result : read->results) all += result.DebugString();
    for (const std::string& note : read->notes) all += note;
    EXPECT_THAT(all, Not(HasSubstr("secret")));
    EXPECT_THAT(all, Not(HasSubstr("SECRET")));
    EXPECT_THAT(all, Not(HasSubstr("mlx5")));
  }
}

TEST(NcclTestsTest, WhatTheFileDoesNotSayComesFromTheUser) {
  Origin origin;
  origin.gpu = "H100 SXM";  // As the file says, in other words.
  origin.driver = "580.95.05";
  origin.node = "rack-7";
  origin.time.emplace().set_seconds(1'767'225'600);
  const auto read = ReadNcclTests(kNcclText, origin);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->environment.gpu_form_factor(), "SXM");
  EXPECT_EQ(read->environment.driver_version(), "580.95.05");
  EXPECT_EQ(read->provenance.node_names(0), "rack-7");
  EXPECT_EQ(read->results[0].end_time().seconds(), 1'767'225'600);
}

TEST(NcclTestsTest, WhatContradictsTheFileIsRefused) {
  Origin origin;
  origin.collective = "all_gather";
  EXPECT_THAT(Refusal(kNcclText, origin),
              HasSubstr("line 2: the output is of \"all_reduce_perf\", and --collective says "
                        "all_gather"));
  origin.collective = "all_reduce";
  EXPECT_EQ(Refusal(kNcclText, origin), "taken");
  origin.collective = "allreduce";
  EXPECT_THAT(Refusal(kNcclText, origin), HasSubstr("is none of all_gather, all_reduce"));
  origin = {};
  origin.gpu = "NVIDIA H100 PCIe";
  EXPECT_THAT(Refusal(kNcclText, origin),
              HasSubstr("--gpu \"NVIDIA H100 PCIe\" contradicts the file, which says \"NVIDIA H100 "
                        "80GB HBM3\""));
  // One of two kinds, but none else.
  const std::string mixed =
      Replaced(kNcclText, "[0000:05:00] NVIDIA H100 80GB HBM3", "[0000:05:00] NVIDIA H200");
  EXPECT_THAT(Refusal(mixed), HasSubstr("GPUs of 2 kinds"));
  EXPECT_THAT(Refusal(mixed, origin), HasSubstr("says \"NVIDIA H100 80GB HBM3\", \"NVIDIA H200\""));
  origin.gpu = "NVIDIA H200";
  EXPECT_EQ(Refusal(mixed, origin), "taken");
}

TEST(NcclTestsTest, TheTimeIsHeldAgainstTheFilesClocks) {
  Origin origin;
  google::protobuf::Timestamp& time = origin.time.emplace();
  const auto at = [&](const char* text) {
    EXPECT_TRUE(google::protobuf::util::TimeUtil::FromString(text, &time));
    return origin;
  };
  // Whatever the zone: the file's clock says 08:00:00 to 08:00:02.
  EXPECT_EQ(Refusal(kNcclJson, at("2026-01-31T20:00:00Z")), "taken");
  EXPECT_THAT(Refusal(kNcclJson, at("2026-02-02T08:00:00Z")),
              HasSubstr("contradicts the file, which says 2026-01-31 08:00:00"));
  // A row's timestamp.
  origin.collective = "broadcast";
  EXPECT_THAT(Refusal(kOldNcclText, at("2024-05-02T12:00:00Z")), HasSubstr("2024-05-01 12:00:00"));
  EXPECT_EQ(Refusal(kOldNcclText, at("2024-05-01T04:00:00Z")), "taken");
  // A file without clocks.
  origin.collective = "";
  EXPECT_EQ(Refusal(kNcclText, at("1999-01-01T00:00:00Z")), "taken");
}

TEST(NcclTestsTest, KindsOfBlockingAndMisalignmentAreSeriesOfTheirOwn) {
  const auto parameters = [](const std::string& text) {
    const auto read = ReadNcclTests(text, {});
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->results[0].parameters() : v1::CaseResult().parameters();
  };
  const std::string barrier =
      Replaced(kNcclText, "# Using devices",
               "# Blocking Enabled: wait for completion and barrier after each collective \n# "
               "Using devices");
  EXPECT_EQ(parameters(barrier).at("blocking"), "true");
  EXPECT_EQ(parameters(Replaced(barrier, "completion and barrier after each collective",
                                "completion after each collective (no barrier)"))
                .at("blocking"),
            "no_barrier");
  EXPECT_EQ(parameters(Replaced(kNcclText, "graph: 0", "graph: 0 unalign: 4")).at("unalign"), "4");
  EXPECT_FALSE(
      parameters(Replaced(kNcclText, "graph: 0", "graph: 0 unalign: 0")).contains("unalign"));
}

TEST(NcclTestsTest, OldOutputsNeedTheNameOfTheirTest) {
  EXPECT_THAT(Refusal(kOldNcclText), HasSubstr("--collective"));
  Origin origin;
  origin.collective = "broadcast";
  const auto read = ReadNcclTests(kOldNcclText, origin);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->provenance.imported_from(), "nccl-tests");
  ASSERT_EQ(read->results.size(), 2U);
  const auto& parameters = read->results[0].parameters();
  EXPECT_EQ(parameters.at("root"), "1");
  EXPECT_EQ(parameters.at("dtype"), "bf16");
  EXPECT_EQ(parameters.at("launch"), "graph");
  EXPECT_EQ(parameters.at("aggregate"), "4");
  EXPECT_FALSE(parameters.contains("op"));
  // Nobody checked (-c 0): no passed verification, and a mark.
  EXPECT_FALSE(read->results[0].has_verification());
  EXPECT_THAT(read->results[0].conditions().flags(), ::testing::ElementsAre("unverified"));
  origin.collective = "all_of_them";
  EXPECT_THAT(Refusal(kOldNcclText, origin), HasSubstr("all_reduce"));
}

TEST(NcclTestsTest, JsonBecomesResultsAndWrongOnesFail) {
  const auto read = ReadNcclTests(kNcclJson, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->provenance.imported_from(), "nccl-tests, JSON version 1");
  EXPECT_EQ(read->environment.gpu_count(), 4);
  EXPECT_EQ(read->environment.software().nccl(), "2.28.9");
  ASSERT_EQ(read->results.size(), 4U);
  EXPECT_EQ(read->results[0].benchmark(), "all_gather");
  EXPECT_EQ(read->results[0].measurements(0).median(), 0.0768);
  EXPECT_EQ(read->results[1].outcome(), v1::CASE_OUTCOME_FAILED);
  EXPECT_EQ(read->results[1].failure().reason(), "VERIFICATION_FAILED");
  EXPECT_EQ(read->results[1].measurements_size(), 0);
  EXPECT_FALSE(read->results[1].verification().passed());
  EXPECT_THAT(read->results[2].conditions().flags(), ::testing::ElementsAre("unverified"));
}

TEST(NcclTestsTest, SeveralRunsOfOneMachineAreOneImport) {
  // The same ring, half as far: 1.0 instead of 1.5 times the algorithm bandwidth.
  std::string second = Replaced(kNcclText, "starting: all_reduce_perf", "starting: reduce_perf");
  second = Replaced(second, "concluded: all_reduce_perf", "concluded: reduce_perf");
  second = Replaced(second, "NCCL version", "rm -f x; NCCL version");
  for (const auto& [from, to] : {std::pair("1.20  ", "0.80  "),
                                 {"1.50  ", "1.00  "},
                                 {"150.00 ", "100.00 "},
                                 {"165.00 ", "110.00 "},
                                 {"bandwidth    : 52.95", "bandwidth    : 35.30"}}) {
    second = Replaced(second, from, to);
  }
  for (size_t at = 0; (at = second.find("      -1", at)) != std::string::npos; ++at) {
    second.replace(at, 8, "       0");
  }
  const auto both = ReadNcclTests(kNcclText + second, {});
  ASSERT_TRUE(both.ok()) << both.status();
  ASSERT_EQ(both->results.size(), 12U);
  EXPECT_EQ(both->results[6].benchmark(), "reduce");
  std::string other = second;
  while (other.find("H100") != std::string::npos) other = Replaced(other, "H100", "H200");
  EXPECT_THAT(Refusal(kNcclText + other), HasSubstr("other ranks, GPUs or versions"));
}

TEST(NcclTestsTest, TheFailureThatEndedARunIsNamed) {
  // The size is printed before the row is measured, the failure behind it.
  const std::string text = kNcclText;
  const std::string table = text.substr(0, text.find("   134217728 "));
  const std::string row = "   134217728      33554432     float     sum      -1";
  const std::string failed =
      table + row +
      "secret-1: Test NCCL failure all_reduce.cu:44 'unhandled cuda error / '\n"
      " .. secret-1 pid 9: Test failure common.cu:420\n"
      "secret-2: Test CUDA failure common.cu:501 'an illegal memory access'\n";
  const std::string refusal = Refusal(failed);
  EXPECT_THAT(refusal, HasSubstr("the run ended with \"Test NCCL failure all_reduce.cu:44 'unhan"));
  EXPECT_THAT(refusal, Not(HasSubstr("secret")));
  EXPECT_THAT(Refusal(failed + text), HasSubstr("another run begins before the summary"));
  EXPECT_THAT(Refusal(failed + text), HasSubstr("the run ended with \"Test NCCL failure"));
  // Of a run that was complete it tells nothing.
  const std::string late = text + "secret-1: Test CUDA failure common.cu:1130 'driver is gone'\n";
  EXPECT_EQ(Refusal(late), "taken");
  EXPECT_THAT(Refusal(late + table), HasSubstr("the output was cut short"));
}

// mpirun of a build without MPI: as many runs of one rank as there are processes, at once.
TEST(NcclTestsTest, RunsOfSeveralProcessesAtOnceAreToldApart) {
  std::string mixed;
  std::istringstream lines(kNcclText);
  for (std::string line; std::getline(lines, line);) mixed += line + "\n" + line + "\n";
  EXPECT_THAT(Refusal(mixed), HasSubstr("line 4: another run begins before the summary"));
  EXPECT_THAT(Refusal(mixed), HasSubstr("build nccl-tests with MPI=1"));
}

TEST(NcclTestsTest, CutShortAnywhereItIsRefused) {
  const std::string text = kNcclText;
  const size_t complete = text.find("52.95") + 5;
  for (size_t length = 0; length + 1 < complete; ++length) {
    EXPECT_NE(Refusal(text.substr(0, length)), "taken") << text.substr(0, length);
  }
  EXPECT_THAT(Refusal(text.substr(0, text.find("# Out of"))), HasSubstr("cut short"));
  const std::string json = kNcclJson;
  for (size_t length = 0; length < json.size(); ++length) {
    EXPECT_NE(Refusal(json.substr(0, length)), "taken") << length;
  }
  EXPECT_THAT(Refusal(json.substr(0, json.size() / 2)), HasSubstr("cut short"));
  const size_t summary = json.find(",\"out_of_bounds\"");
  EXPECT_THAT(Refusal(json.substr(0, summary) + "}"), HasSubstr("cut short"));
  EXPECT_THAT(Refusal(text.substr(0, text.find("# Out of")) + text), HasSubstr("another run"));
}

TEST(NcclTestsTest, LostAndChangedRowsAreRefused) {
  const std::string text = kNcclText;
  const size_t row = text.find("       32768");
  std::string lost = text;
  lost.erase(row, text.find('\n', row) + 1 - row);
  EXPECT_THAT(Refusal(lost), HasSubstr("rows are missing or were changed"));
  EXPECT_THAT(Refusal(Replaced(text, "  165.00 ", "  195.00 ")), HasSubstr("rows are missing"));
  EXPECT_THAT(Refusal(Replaced(text, "165.00       0", "165.00")), HasSubstr("line 19"));
  EXPECT_THAT(Refusal(Replaced(text, "values : 0 OK", "values : 4 FAILED")),
              HasSubstr("out of bounds"));
}

// `text` without the first line that has `part`.
std::string WithoutLine(std::string text, const std::string& part) {
  const size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  const size_t begin = text.rfind('\n', at) + 1;
  return text.erase(begin, text.find('\n', at) + 1 - begin);
}

TEST(NcclTestsTest, LostRanksAreNamed) {
  Origin origin;
  origin.collective = "broadcast";
  const std::string root = Replaced(kOldNcclText, "none       1", "none       0");
  EXPECT_EQ(Refusal(root, origin), "taken");
  EXPECT_THAT(Refusal(WithoutLine(root, "Rank  1"), origin),
              HasSubstr("line of rank 1 is missing: 1 rank stands above the table, and nThread 1 "
                        "nGpus 2 in line 1 make a multiple of 2"));
  EXPECT_THAT(Refusal(WithoutLine(root, "Rank  0"), origin),
              HasSubstr("line 4: expected the line of rank 0, and this is of rank 1"));
  EXPECT_THAT(Refusal(WithoutLine(root, "nThread"), origin),
              HasSubstr("expected the output of nccl-tests"));
  EXPECT_THAT(Refusal(Replaced(kNcclText, "nThread 1 nGpus 1", "nThread 2 nGpus 4")),
              HasSubstr("rank 4 is missing"));
  EXPECT_EQ(Refusal(Replaced(kNcclText, "nThread 1 nGpus 1", "nThread 2 nGpus 2")), "taken");
  EXPECT_THAT(Refusal(WithoutLine(kNcclText, "nThread")), HasSubstr("line of settings"));
  EXPECT_THAT(Refusal(Replaced(kNcclJson, "\"rank\":0", "\"rank\":4")),
              HasSubstr("device 0 of `config` is rank 4"));
}

// With one rank a process any number of them may stand in the file.
TEST(NcclTestsTest, AnUnconfirmedNumberOfRanksIsSaid) {
  Origin origin;
  origin.collective = "broadcast";
  const auto notes_of = [&origin](const std::string& text) {
    const auto read = ReadNcclTests(text, origin);
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? read->notes : std::vector<std::string>();
  };
  const auto said = testing::Contains(HasSubstr("the number of ranks, 1, is that of the"));
  std::string text = Replaced(kOldNcclText, "none       1", "none       0");
  text = WithoutLine(Replaced(text, "nGpus 2", "nGpus 1"), "Rank  1");
  EXPECT_THAT(notes_of(text), said);
  // These tell it by their bus bandwidth: a lost line contradicts them.
  origin.collective.clear();
  EXPECT_THAT(notes_of(kNcclText), testing::Not(testing::Contains(HasSubstr("of ranks"))));
  EXPECT_THAT(Refusal(WithoutLine(kNcclText, "Rank  3")), HasSubstr("on 3 ranks"));
  EXPECT_THAT(notes_of(kNcclJson), testing::Not(testing::Contains(HasSubstr("of ranks"))));
}

TEST(NcclTestsTest, ASingleRankHasNoBusBandwidth) {
  Origin origin;
  origin.collective = "broadcast";
  std::string text = WithoutLine(kOldNcclText, "Rank  1");
  text = Replaced(Replaced(text, "nGpus 2", "nGpus 1"), "none       1", "none       0");
  const auto read = ReadNcclTests(text, origin);
  ASSERT_TRUE(read.ok()) << read.status();
  for (const v1::CaseResult& result : read->results) {
    EXPECT_EQ(result.parameters().at("ranks"), "1");
    ASSERT_EQ(result.measurements_size(), 2);
    EXPECT_EQ(result.measurements(0).metric(), "algorithm_bandwidth");
    EXPECT_EQ(result.measurements(1).metric(), "time");
  }
}

TEST(NcclTestsTest, ContradictionsWithinARunAreRefused) {
  const std::string wrong = Replaced(kNcclText, "165.00       0", "165.00       5");
  EXPECT_THAT(Refusal(wrong), HasSubstr("has wrong elements (#wrong), and its summary says that"));
  EXPECT_EQ(Refusal(Replaced(wrong, "values : 0 OK", "values : 1 FAILED")), "taken");
  EXPECT_THAT(Refusal(Replaced(kNcclJson, "{\"count\":3", "{\"count\":0")),
              HasSubstr("has wrong elements"));
  EXPECT_THAT(Refusal(Replaced(kNcclText, "concluded: all_reduce_perf", "concluded: reduce_perf")),
              HasSubstr("line 23: the test concludes as \"reduce_perf\", and the run began as"));
  // Its end alone names the test, too.
  const std::string unnamed = WithoutLine(kNcclText, "starting:");
  EXPECT_EQ(Refusal(unnamed), "taken");
  EXPECT_THAT(Refusal(Replaced(unnamed, "concluded: all_reduce", "concluded: all_gather")),
              HasSubstr("all_gather"));
  EXPECT_THAT(Refusal(WithoutLine(kNcclText, "# Avg bus")), HasSubstr("the test concludes before"));
}

TEST(NcclTestsTest, RowsThatTheSettingsRuleOutAreRefused) {
  const std::string counted =
      "line 16: the row counts wrong elements (#wrong), and the run's "
      "settings say that nothing was checked (validation: 0); expected N/A";
  EXPECT_THAT(Refusal(Replaced(kNcclText, "validation: 1", "validation: 0")), HasSubstr(counted));
  EXPECT_THAT(Refusal(Replaced(kNcclJson, "\"validation\":1", "\"validation\":0")),
              HasSubstr("result 1: the row counts wrong elements"));
  EXPECT_EQ(Refusal(Replaced(kNcclText, " validation: 1", "")), "taken");
  // Also of a test without root.
  EXPECT_THAT(Refusal(Replaced(kNcclText, "sum      -1", "sum       9")),
              HasSubstr("line 16: root is 9 of 4 ranks; expected -1 to 3"));
  EXPECT_THAT(Refusal(Replaced(kNcclText, "sum      -1", "sum      -2")),
              HasSubstr("line 16: root is \"-2\"; expected a whole number from -1 to"));
  EXPECT_THAT(Refusal(Replaced(kNcclJson, "\"    -1\"", "\"     4\"")),
              HasSubstr("result 1: root is 4 of 4 ranks"));
}

TEST(NcclTestsTest, VersionsThatNoneMayHaveAreRefused) {
  const std::string text = kNcclText;
  EXPECT_THAT(Refusal(Replaced(text, "version 2.17.6", "version 2.10.0")),
              HasSubstr("line 2: nccl-tests of version \"2.10.0\" is not known; expected 2.11 or "
                        "later, before 3.0"));
  EXPECT_NE(Refusal(Replaced(text, "version 2.17.6", "version 2.x")), "taken");
  EXPECT_EQ(Refusal(Replaced(text, "version 2.17.6", "version 2.11")), "taken");
  EXPECT_THAT(
      Refusal(Replaced(text, "nccl-library=22606", "nccl-library=99999999999")),
      HasSubstr("line 2: nccl-library is \"99999999999\"; expected a whole number from 1000 "
                "to 99999"));
  EXPECT_THAT(Refusal(Replaced(kNcclJson, "\"nccl_version\":22809", "\"nccl_version\":100000")),
              HasSubstr("`nccl_version` of the file is 100000; expected 1000 to 99999"));
}

TEST(NcclTestsTest, OtherVersionsAndFormsAreNamed) {
  const std::string text = kNcclText;
  EXPECT_THAT(Refusal(Replaced(text, "version 2.17.6", "version 3.0.1")),
              HasSubstr("line 2: nccl-tests of version \"3.0.1\""));
  EXPECT_THAT(Refusal(Replaced(text, "#wrong", "error")), HasSubstr("before 2.11"));
  EXPECT_THAT(Refusal(Replaced(text, "    time ", " cputime ")), HasSubstr("-C 1"));
  EXPECT_THAT(Refusal(Replaced(text, "  busbw ", "  speed ")), HasSubstr("expected the columns"));
  EXPECT_THAT(Refusal(Replaced(text, "     float", "   float96")), HasSubstr("float96"));
  EXPECT_THAT(Refusal(Replaced(text, "Rank  2 Group  0", "Rank  2 Group  1")),
              HasSubstr("NCCL_TESTS_SPLIT"));
  EXPECT_THAT(
      Refusal(Replaced(Replaced(text, "starting: all_reduce_perf", "starting: hypercube_perf"),
                       "concluded: all_reduce_perf", "concluded: hypercube_perf")),
      HasSubstr("none of Assay's collectives"));
  EXPECT_THAT(Refusal(Replaced(text, "[0000:05:00] NVIDIA H100", "[0000:05:00] NVIDIA A100")),
              HasSubstr("--gpu"));
  EXPECT_THAT(Refusal(Replaced(kNcclJson, "\"version\":1", "\"version\":3")),
              HasSubstr("expected 1 to 2"));
  EXPECT_THAT(Refusal(Replaced(kNcclJson, "\"time\":10.0", "\"cpu_time\":10.0")),
              HasSubstr("-C 1"));
  EXPECT_THAT(Refusal("hello\n"), HasSubstr("expected the output of nccl-tests"));
  EXPECT_THAT(Refusal(""), HasSubstr("expected the output of nccl-tests"));
}

}  // namespace
}  // namespace assay::imports
