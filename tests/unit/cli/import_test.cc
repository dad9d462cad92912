// assay import: the real program, its files and what it sends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/digest.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/unit/cli/imports/files.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// On one line, however narrow the terminal was.
std::string Unwrapped(const std::string& text) {
  std::string line;
  for (const char c : text) {
    const char plain = c == '\n' ? ' ' : c;
    if (plain != ' ' || !line.ends_with(' ')) line += plain;
  }
  return line;
}

// Nothing listens there.
constexpr char kNobody[] = "127.0.0.1:1";

class ImportTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  TemporaryFolder folder_;
  FakeCoordinator coordinator_;
};

TEST_F(ImportTest, StoresAndShowsWhatWasStored) {
  coordinator_.Start();
  const std::string file = Write("log.txt", imports::kNcclText);
  const std::vector<std::string> arguments = {"import", "nccl-tests", file,       "--node",
                                              "rack-7", "--driver",   "580.95.05"};
  const ProgramRun run = RunAssay(arguments, coordinator_.address());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const v1::ImportResultsRequest sent = coordinator_.last_import();
  EXPECT_EQ(sent.name(), "import: log.txt");
  EXPECT_TRUE(IsUuid(sent.request_id()));
  EXPECT_EQ(sent.provenance().imported_from(), "nccl-tests 2.17.6");
  EXPECT_EQ(sent.provenance().node_names(0), "rack-7");
  EXPECT_EQ(sent.environment().driver_version(), "580.95.05");
  EXPECT_EQ(sent.results_size(), 6);
  EXPECT_THAT(sent.DebugString(), Not(HasSubstr("secret")));
  EXPECT_THAT(coordinator_.last_filter(), HasSubstr("campaign = \"c-import\""));
  EXPECT_THAT(run.out, HasSubstr("bus_bandwidth"));
  EXPECT_THAT(run.out, HasSubstr("I  imported: another program measured it"));
  EXPECT_THAT(run.out, HasSubstr("Imported 6 results of nccl-tests 2.17.6 as campaign"));
  // In the order of the file.
  EXPECT_LT(run.out.find(" 8B"), run.out.find("32KiB"));

  const ProgramRun again = RunAssay(arguments, coordinator_.address());
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_THAT(again.out, HasSubstr("Already imported as campaign import: log.txt (c-import)"));
  for (v1::StoredResult& stored : coordinator_.results) {
    stored.mutable_case_result()->set_benchmark_version(1);
  }
  EXPECT_THAT(Unwrapped(RunAssay(arguments, coordinator_.address()).out),
              HasSubstr("by a version of Assay that reads it otherwise"));
  // Options that are not given change nothing.
  EXPECT_EQ(RunAssay({"import", "nccl-tests", file}, coordinator_.address()).exit_code, 0);
  std::vector<std::string> renamed = arguments;
  renamed.insert(renamed.end(), {"--name", "again"});
  EXPECT_THAT(RunAssay(renamed, coordinator_.address()).out, HasSubstr("Imported 6 results"));
  EXPECT_NE(coordinator_.last_import().request_id(), sent.request_id());
}

TEST_F(ImportTest, OptionsThatWereNotAppliedAreSaid) {
  coordinator_.Start();
  const std::string file = Write("log.txt", imports::kOldNcclText);
  const std::vector<std::string> first = {"import",       "nccl-tests", file,
                                          "--collective", "broadcast",  "--driver",
                                          "580.1",        "--time",     "2024-05-01T12:00:00Z"};
  ASSERT_EQ(RunAssay(first, coordinator_.address()).exit_code, 0);
  EXPECT_EQ(RunAssay(first, coordinator_.address()).exit_code, 0);
  const ProgramRun other =
      RunAssay({"import", "nccl-tests", file, "--collective", "reduce", "--driver", "580.2",
                "--node", "a", "--time", "2024-05-01T13:00:00Z"},
               coordinator_.address());
  EXPECT_EQ(other.exit_code, 2) << "a reduction was not printed";
  const ProgramRun again =
      RunAssay({"import", "nccl-tests", file, "--collective", "broadcast", "--driver", "580.2",
                "--node", "a", "--time", "2024-05-01T13:00:00Z"},
               coordinator_.address());
  EXPECT_EQ(again.exit_code, 4);
  EXPECT_EQ(again.out, "");
  for (const char* part : {"already imported as campaign import: log.txt (c-import)", "--node",
                           "it has none", "--driver", "580.2", "580.1", "--time", "--name NAME"}) {
    EXPECT_THAT(Unwrapped(again.err), HasSubstr(part));
  }
  EXPECT_THAT(Unwrapped(again.err), Not(HasSubstr("--collective")));
}

TEST_F(ImportTest, OptionsOfTheOtherProgramAreUnknown) {
  const std::string file = Write("bandwidth.json", imports::kNvbandwidthJson);
  const ProgramRun run =
      RunAssay({"import", "nvbandwidth", file, "--collective", "all_reduce", "--dry-run"}, kNobody);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--collective"));
  const ProgramRun driver =
      RunAssay({"import", "nvbandwidth", file, "--driver", "580.1", "--dry-run"}, kNobody);
  EXPECT_EQ(driver.exit_code, 2);
  EXPECT_THAT(Unwrapped(driver.err), HasSubstr("contradicts the file, which says 565.02"));
}

TEST_F(ImportTest, DryRunShowsConditionsAndEveryMetric) {
  const std::string file = Write("log.txt", imports::kNcclText);
  const ProgramRun run =
      RunAssay({"import", "nccl-tests", file, "--dry-run", "--node", "rack-7"}, kNobody);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  for (const char* line :
       {"Campaign import: log.txt", "program  nccl-tests 2.17.6", "GPUs     4x H100 SXM on 2 nodes",
        "node     rack-7", "driver   not told (--driver)", "CUDA     not told\n", "NCCL     2.26.6",
        "time     not told (--time)", "algorithm_bandwidth"}) {
    EXPECT_THAT(run.out, HasSubstr(line));
  }
  EXPECT_THAT(Unwrapped(run.err), HasSubstr("bandwidths computed from bytes and time"));
}

TEST_F(ImportTest, DryRunNeedsNoCoordinator) {
  const std::string file = Write("bandwidth.json", imports::kNvbandwidthJson);
  const ProgramRun run = RunAssay({"import", "nvbandwidth", file, "--dry-run"}, kNobody);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("peer_transfer"));
  EXPECT_THAT(run.out, HasSubstr("Nothing was stored."));
  EXPECT_THAT(run.out, HasSubstr("V  unverified"));
  EXPECT_THAT(run.err, HasSubstr("waived by nvbandwidth: all_to_one_read_ce"));
  const ProgramRun json =
      RunAssay({"import", "nvbandwidth", file, "--dry-run", "-o", "json"}, kNobody);
  ASSERT_EQ(json.exit_code, 0) << json.err;
  // One result each way of the device, two pairs with three metrics.
  EXPECT_EQ(nlohmann::json::parse(json.out).size(), 7U);
  EXPECT_THAT(json.err, HasSubstr("Nothing was stored."));
  const ProgramRun csv = RunAssay(
      {"import", "nvbandwidth", file, "--dry-run", "-o", "csv", "--time", "2024-01-31T08:00:00Z"},
      kNobody);
  EXPECT_THAT(csv.out, HasSubstr("2024-01-31T08:00:00Z"));
  EXPECT_THAT(csv.out, HasSubstr("nvbandwidth 0.8"));
}

TEST_F(ImportTest, BadFilesAreRefusedWithTheirLine) {
  coordinator_.Start();
  const std::string text = imports::kNcclText;
  const std::string cut = Write("cut.txt", text.substr(0, text.find("# Out of")));
  const ProgramRun run = RunAssay({"import", "nccl-tests", cut}, coordinator_.address());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("cut.txt: line "));
  EXPECT_EQ(coordinator_.last_import().results_size(), 0);
  const std::string big = Write("big.txt", std::string((16 << 20) + 100, '\n'));
  EXPECT_THAT(RunAssay({"import", "nvbandwidth", big}, kNobody).err, HasSubstr("16 MiB"));
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"import"},
           {"import", "iperf3", cut},
           {"import", "nccl-tests"},
           {"import", "nccl-tests", folder_.path() + "/none"},
           {"import", "nccl-tests", folder_.path()},
           {"import", "nccl-tests", "/dev/zero"},
           {"import", "nccl-tests", "/dev/null"},
           {"import", "nvbandwidth", cut},
           {"import", "nccl-tests", cut, "--time", "yesterday"}}) {
    const ProgramRun refused = RunAssay(arguments, kNobody);
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_EQ(refused.out, "");
  }
}

// What the coordinator would refuse, a dry run refuses too, and both name the option, once.
TEST_F(ImportTest, WhatOptionsSayIsCheckedBeforeAnythingIsSent) {
  coordinator_.Start();
  const std::string file = Write("log.txt", imports::kNcclText);
  const std::string text = "must be UTF-8 of at most 200 bytes without control characters";
  struct Case {
    const char* option;
    std::string value;
    std::string fault;
  };
  for (const Case& one : std::vector<Case>{{"--time", "0001-01-01T00:00:00Z", "is no time since"},
                                           {"--time", "9998-01-01T00:00:00Z", "lies in the future"},
                                           {"--node", "a\x1b[1m", text},
                                           {"--node", std::string(201, 'n'), text},
                                           {"--name", "a\nb", text},
                                           {"--name", std::string(201, 'n'), text},
                                           {"--driver", "5\t8", text},
                                           {"--name", "", "is empty"},
                                           {"--node", "", "is empty"},
                                           {"--gpu", "", "is empty"},
                                           {"--driver", "", "is empty"},
                                           {"--time", "", "is empty"},
                                           {"--collective", "", "is empty"}}) {
    for (const bool dry : {false, true}) {
      std::vector<std::string> arguments = {"import", "nccl-tests", file, one.option, one.value};
      if (dry) arguments.emplace_back("--dry-run");
      const ProgramRun run = RunAssay(arguments, coordinator_.address());
      EXPECT_EQ(run.exit_code, 2) << one.option;
      EXPECT_EQ(run.out, "");
      const std::string said = Unwrapped(run.err);
      const std::string fault = std::string(one.option) + ": " + one.fault;
      const size_t at = said.find(fault);
      EXPECT_NE(at, std::string::npos) << said;
      EXPECT_EQ(said.find(one.fault, at + fault.size()), std::string::npos) << said;
      EXPECT_THAT(said, Not(HasSubstr("results[")));
      EXPECT_THAT(said, Not(HasSubstr("node_names")));
    }
  }
  EXPECT_EQ(coordinator_.last_import().results_size(), 0);
  EXPECT_THAT(RunAssay({"import", "nccl-tests", "-"}, kNobody).err,
              StartsWith("assay: standard input: line 1: "));
  const std::string odd = Write(std::string(210, 'f'), imports::kNcclText);
  EXPECT_THAT(Unwrapped(RunAssay({"import", "nccl-tests", odd, "--dry-run"}, kNobody).err),
              HasSubstr("--name: " + text + " (as the file's name makes it"));
}

// The import worked, whatever the results are.
TEST_F(ImportTest, WrongElementsAreSaidAndTheExitStatusIsZero) {
  coordinator_.Start();
  const std::string file = Write("wrong.json", imports::kNcclJson);
  const ProgramRun run = RunAssay({"import", "nccl-tests", file}, coordinator_.address());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(Unwrapped(run.out), HasSubstr("(of which 1 failed verification) as campaign"));
  EXPECT_THAT(Unwrapped(RunAssay({"import", "nccl-tests", "--help"}, kNobody).out),
              HasSubstr("The exit status is 0 once the results are stored"));
}

TEST_F(ImportTest, WhatTheCoordinatorSaysIsSaid) {
  const std::string file = Write("log.txt", imports::kNcclText);
  EXPECT_EQ(RunAssay({"import", "nccl-tests", file}, kNobody).exit_code, 3);
  coordinator_.import_error =
      InvalidArgument("the import has 3 faults", "BAD_IMPORT")
          .WithViolations({{"name", "must be UTF-8 of at most 200 bytes", 0},
                           {"results[0].start_time", "lies in the future", 0},
                           {"results[0].end_time", "lies in the future", 0}});
  coordinator_.Start();
  const ProgramRun run = RunAssay({"import", "nccl-tests", file}, coordinator_.address());
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("  --name: must be UTF-8"));
  EXPECT_THAT(run.err, HasSubstr("  --time: lies in the future\n"));
  EXPECT_THAT(run.err, Not(HasSubstr("_time")));
}

}  // namespace
}  // namespace assay::cli
