// assay campaign check, which needs no coordinator.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/temporary_folder.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

// No coordinator answers here.
constexpr char kNowhere[] = "127.0.0.1:1";

ProgramRun CheckText(const std::string& text, const std::vector<std::string>& options = {}) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/file.yaml";
  std::ofstream(path) << text;
  std::vector<std::string> arguments = {"campaign", "check", path};
  arguments.insert(arguments.end(), options.begin(), options.end());
  ProgramRun run = RunAssay(arguments, kNowhere);
  for (std::string* stream : {&run.out, &run.err}) {
    for (size_t at = stream->find(folder.path()); at != std::string::npos;
         at = stream->find(folder.path())) {
      stream->erase(at, folder.path().size() + 1);
    }
  }
  return run;
}

TEST(CheckTest, EveryExampleIsValid) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_EXAMPLES)) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    const std::string path = entry.path();
    const ProgramRun alone = RunAssay({"campaign", "check", path, "-o", "json"}, kNowhere);
    ASSERT_EQ(alone.exit_code, 0) << path << alone.err;
    EXPECT_GT(nlohmann::json::parse(alone.out)["case_count"], 0) << path;
    const ProgramRun like =
        RunAssay({"campaign", "check", path, "--like", "4x8xH200", "-o", "json"}, kNowhere);
    ASSERT_EQ(like.exit_code, 0) << path << like.err;
    EXPECT_GT(nlohmann::json::parse(like.out)["jobs"]["queued"], 0) << path;
  }
  EXPECT_GE(files, 20);
}

TEST(CheckTest, WrongFiles_AreReportedWithTheirLines) {
  for (const char* wrong : {"cpu_gem", "cpu_gemm: {sizes: 5}", "gemm: {m: many}", "gemm: {m: 0}",
                            "gemm: {dtype: bf17}"}) {
    const std::string text = "name: n\nbenchmarks:\n  - " + std::string(wrong) + "\n";
    for (const std::vector<std::string>& options :
         {std::vector<std::string>{}, {"--like", "8xH200"}, {"-o", "json"}}) {
      const ProgramRun run = CheckText(text, options);
      EXPECT_EQ(run.exit_code, 2) << wrong;
      EXPECT_EQ(run.err.find("file.yaml:3: "), 0u) << wrong << ": " << run.err;
      EXPECT_EQ(run.out, "") << wrong;
    }
  }
  const std::string cases = "benchmarks: [cpu_gemm]\n";
  EXPECT_EQ(CheckText("name: n\n").exit_code, 2);
  EXPECT_EQ(CheckText("name: n\nnodes: gpu.modl = H200\n" + cases).err.find("file.yaml:2: nodes"),
            0u);
  EXPECT_EQ(CheckText("name: n\n" + cases + "accept:\n  - cpu_gemm.tflps > 1 TFLOP/s\n")
                .err.find("file.yaml:4: accept[0]"),
            0u);
}

TEST(CheckTest, Like_FindsCasesThatNeedMoreGpusOrNodes) {
  const std::string gang = "name: n\nbenchmarks:\n  - all_reduce: {ranks: 16, nodes: 2}\n";
  EXPECT_EQ(CheckText(gang).exit_code, 0);
  EXPECT_EQ(CheckText(gang, {"--like", "2x8xH200"}).exit_code, 0);
  for (const char* small : {"8xH200", "2x4xH200"}) {
    const ProgramRun run = CheckText(gang, {"--like", small});
    EXPECT_EQ(run.exit_code, 2) << small;
    EXPECT_EQ(run.err.find("file.yaml:3: benchmarks[0]"), 0u) << run.err;
  }
  const std::string sweep =
      "name: n\nunplaceable: skip\nbenchmarks:\n  - all_reduce: {ranks: [2, 4, 8], bytes: 1MiB}\n";
  const ProgramRun some = CheckText(sweep, {"--like", "4xH100", "-o", "json"});
  ASSERT_EQ(some.exit_code, 0) << some.err;
  const auto json = nlohmann::json::parse(some.out);
  EXPECT_EQ(json["jobs"]["queued"], 2);
  EXPECT_EQ(json["left_out"].size(), 1U);
  EXPECT_WORDING("cli/check-like", CheckText(sweep, {"--like", "4xH100"}).out);
  EXPECT_WORDING("cli/check", CheckText(sweep).out);
}

TEST(CheckTest, Filters_AreAppliedToGpus_AndOtherwiseAssumedToMatch) {
  const std::string model = "name: n\nnodes: gpu.model = \"H100\"\nbenchmarks: [cpu_gemm]\n";
  EXPECT_EQ(CheckText(model, {"--like", "8xH200"}).exit_code, 2);
  EXPECT_EQ(CheckText(model, {"--like", "8xh100"}).exit_code, 0);
  EXPECT_EQ(CheckText(model).exit_code, 0);
  const ProgramRun rack = CheckText(
      "name: n\nnodes: label.rack = 7 OR name = g1\nexpect_nodes: 12\nbenchmarks: [cpu_gemm]\n",
      {"--like", "8xH200"});
  EXPECT_EQ(rack.exit_code, 0) << rack.err;
  EXPECT_WORDING("cli/check-assumed", rack.out);
}

TEST(CheckTest, Like_MustBeKnownHardware) {
  for (const char* like : {"", "H200", "0xH200", "8x", "8xQuux", "65xH200", "1x1x1xH200"}) {
    const ProgramRun run = CheckText("name: n\nbenchmarks: [cpu_gemm]\n", {"--like", like});
    EXPECT_EQ(run.exit_code, 2) << like;
    EXPECT_NE(run.err, "") << like;
  }
  for (const char* like : {"8xH200 SXM", "1xRTX 4090", "4xA100", "2x8xB200"}) {
    EXPECT_EQ(CheckText("name: n\nbenchmarks: [gemm: {m: 64, n: 64, k: 64}]\n", {"--like", like})
                  .exit_code,
              0)
        << like;
  }
}

}  // namespace
}  // namespace assay::cli
