// assay import: the real program, its files and what it sends.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "common/uuid.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/unit/cli/imports/files.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

// An address where nothing listens.
constexpr char kNoCoordinator[] = "127.0.0.1:1";

class ImportTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) const {
    std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  // Returns `text` without the name of the test's folder.
  std::string Unplaced(std::string text) const {
    for (size_t at; (at = text.find(folder_.path())) != std::string::npos;) {
      text.replace(at, folder_.path().size(), "FOLDER");
    }
    return text;
  }

  TemporaryFolder folder_;
  FakeCoordinator coordinator_;
};

TEST_F(ImportTest, StoresTheFileOnce) {
  coordinator_.Start();
  const std::string file = Write("log.txt", imports::kNcclText);
  std::vector<std::string> arguments = {"import", "nccl-tests", file,       "--node",
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
  EXPECT_EQ(coordinator_.last_filter(), "campaign_id = \"c-import\"");
  // Results are listed in the order of the file.
  EXPECT_LT(run.out.find(" 8B"), run.out.find("32KiB"));

  const ProgramRun again = RunAssay(arguments, coordinator_.address());
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(coordinator_.last_import().request_id(), sent.request_id());
  // An option that is not given does not count as different.
  EXPECT_EQ(RunAssay({"import", "nccl-tests", file}, coordinator_.address()).exit_code, 0);
  arguments.insert(arguments.end(), {"--name", "again"});
  EXPECT_EQ(RunAssay(arguments, coordinator_.address()).exit_code, 0);
  EXPECT_NE(coordinator_.last_import().request_id(), sent.request_id());
}

TEST_F(ImportTest, AlreadyImportedWithOtherOptions_ExitsWith4) {
  coordinator_.Start();
  const std::string file = Write("log.txt", imports::kNcclText);
  ASSERT_EQ(RunAssay({"import", "nccl-tests", file, "--driver", "580.1"}, coordinator_.address())
                .exit_code,
            0);
  const ProgramRun again = RunAssay(
      {"import", "nccl-tests", file, "--driver", "580.2", "--node", "a"}, coordinator_.address());
  EXPECT_EQ(again.exit_code, 4);
  EXPECT_EQ(again.out, "");
  EXPECT_WORDING("cli/import-other-options", Unplaced(again.err));
}

TEST_F(ImportTest, DryRun_ShowsConditionsAndEveryMetricWithoutACoordinator) {
  const std::string file = Write("log.json", imports::kNvbandwidthJson);
  const std::vector<std::string> arguments = {
      "import", "nvbandwidth", file,     "--dry-run",
      "--node", "rack-7",      "--time", "2024-01-31T08:00:00Z"};
  const ProgramRun run = RunAssay(arguments, kNoCoordinator);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_WORDING("cli/import-dry-run", run.out.substr(0, run.out.find("\n\n")));
  std::vector<std::string> json = arguments;
  json.insert(json.end(), {"-o", "json"});
  // One host transfer, two pairs with three metrics, one latency.
  EXPECT_EQ(nlohmann::json::parse(RunAssay(json, kNoCoordinator).out).size(), 8U);
}

TEST_F(ImportTest, BadFilesAndOptions_AreRefusedBeforeAnythingIsSent) {
  coordinator_.Start();
  const std::string good = Write("log.txt", imports::kNcclText);
  const std::string cut = Write("cut.txt", good.substr(0, 100));
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"import"},
           {"import", "iperf3", cut},
           {"import", "nccl-tests"},
           {"import", "nccl-tests", cut},
           {"import", "nccl-tests", folder_.path() + "/none"},
           {"import", "nccl-tests", folder_.path()},
           {"import", "nccl-tests", "/dev/zero"},
           {"import", "nccl-tests", "/dev/null"},
           {"import", "nccl-tests", "-"},
           {"import", "nvbandwidth", cut},
           {"import", "nccl-tests", good, "--time", "yesterday"},
           {"import", "nccl-tests", good, "--time", "0001-01-01T00:00:00Z"},
           {"import", "nccl-tests", good, "--time", "9998-01-01T00:00:00Z"},
           {"import", "nccl-tests", good, "--node", ""},
           {"import", "nccl-tests", good, "--node", "a\x1b[1m"},
           {"import", "nccl-tests", good, "--driver", std::string(201, '5')},
           {"import", "nccl-tests", Write(std::string(210, 'f'), imports::kNcclText)}}) {
    const ProgramRun refused = RunAssay(arguments, coordinator_.address());
    EXPECT_EQ(refused.exit_code, 2) << refused.err;
    EXPECT_EQ(refused.out, "");
  }
  EXPECT_EQ(coordinator_.last_import().results_size(), 0);
}

TEST_F(ImportTest, WrongElements_AreStoredAsFailures_ExitsWith0) {
  coordinator_.Start();
  const std::string file = Write("wrong.json", imports::kNcclJson);
  const ProgramRun run = RunAssay({"import", "nccl-tests", file}, coordinator_.address());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(coordinator_.last_import().results(1).outcome(), v1::CASE_OUTCOME_FAILED);
}

TEST_F(ImportTest, CoordinatorRefuses_ExitsWithItsCode) {
  const std::string file = Write("log.txt", imports::kNcclText);
  EXPECT_EQ(RunAssay({"import", "nccl-tests", file}, kNoCoordinator).exit_code, 3);
  coordinator_.import_error = InvalidArgument("the import has a fault", Reason::kBadImport);
  coordinator_.Start();
  EXPECT_EQ(RunAssay({"import", "nccl-tests", file}, coordinator_.address()).exit_code, 2);
}

}  // namespace
}  // namespace assay::cli
