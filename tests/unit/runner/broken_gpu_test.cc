// Tests assay-runner on a node whose GPUs cannot be used, and on one whose GPU works.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <nlohmann/json.hpp>

#include "assay/v1/runner.pb.h"
#include "common/subprocess.h"
#include "runner/exit_codes.h"
#include "runner/frame_io.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

constexpr char kFault[] = "the fabric manager is not running";

class BrokenGpu : public testing::Test {
 protected:
  void SetUp() override { setenv("CUDA_FAKE_FAULT", kFault, 1); }
  void TearDown() override { unsetenv("CUDA_FAKE_FAULT"); }

  static CommandOutput Invoke(std::vector<std::string> arguments) {
    SubprocessOptions options;
    options.argv = std::move(arguments);
    options.argv.insert(options.argv.begin(), ASSAY_FAKE_GPU_RUNNER);
    auto output = RunCommand(std::move(options), 60s);
    EXPECT_TRUE(output.ok()) << output.status();
    return output.ok() ? *output : CommandOutput();
  }
};

TEST_F(BrokenGpu, RunFailsWithTheFault) {
  for (const char* ranks : {"ranks=1", "ranks=2"}) {
    const CommandOutput run = Invoke({"run", "fake_all_reduce", ranks});
    EXPECT_EQ(run.exit.code, kExitFailed) << run.output;
    EXPECT_NE(run.output.find("GPU_UNUSABLE"), std::string::npos) << run.output;
  }
}

TEST_F(BrokenGpu, ListOfBenchmarksEndsWithTheFault) {
  const CommandOutput list = Invoke({"list"});
  EXPECT_EQ(list.exit.code, kExitDone);
  EXPECT_NE(list.output.find(kFault), std::string::npos) << list.output;
}

TEST_F(BrokenGpu, JobOfAnAgentBlamesTheNode) {
  auto commands = MakePipe();
  auto events = MakePipe();
  ASSERT_TRUE(commands.ok() && events.ok());
  SubprocessOptions options;
  options.argv = {ASSAY_FAKE_GPU_RUNNER, "serve"};
  options.descriptors = {{0, commands->read.get()}, {3, events->write.get()}};
  auto runner = Subprocess::Spawn(options);
  ASSERT_TRUE(runner.ok()) << runner.status();
  events->write.Close();
  v1::RunnerCommand command;
  command.mutable_start()->set_benchmark("fake_all_reduce");
  command.mutable_start()->set_world_size(2);
  (*command.mutable_start()->add_cases()->mutable_parameters())["ranks"] = "2";
  ASSERT_TRUE(WriteFrame(commands->write.get(), command.SerializeAsString()).ok());
  FrameReader reader(events->read.get());
  const auto frame = reader.Read();
  ASSERT_TRUE(frame.ok() && frame->has_value()) << frame.status();
  v1::RunnerEvent event;
  ASSERT_TRUE(event.ParseFromString(**frame));
  EXPECT_EQ(event.aborted().failure().failure_class(), v1::FAILURE_CLASS_NODE);
  EXPECT_EQ(event.aborted().failure().reason(), v1::REASON_GPU_UNUSABLE);
  EXPECT_EQ(event.aborted().failure().message(), kFault);
  EXPECT_TRUE(runner->Wait(30s).has_value());
}

// Runs fake_copy on a working GPU and returns what it prints to stdout.
nlohmann::json RunAsJson() {
  SubprocessOptions options;
  options.argv = {"/bin/sh", "-c",
                  ASSAY_FAKE_GPU_RUNNER " run fake_copy size=1 -o json 2>/dev/null"};
  const auto output = RunCommand(std::move(options), 60s);
  EXPECT_TRUE(output.ok()) << output.status();
  return nlohmann::json::parse(output.ok() ? output->output : "");
}

// A runner without an agent applies the same rules (host/gpu_model.h).
TEST(WorkingGpu, RunNamesModelAndFormFactorAsAgentsDo) {
  const nlohmann::json result = RunAsJson()[0];
  EXPECT_EQ(result["gpu"]["model"], "H200");
  EXPECT_EQ(result["gpu"]["form_factor"], "SXM");
  EXPECT_EQ(result["topology"], "single");
}

// NCCL prints its log to stdout if NCCL_DEBUG is set.
TEST(WorkingGpu, OutputOfLibrariesIsNotInTheResult) {
  setenv("CUDA_FAKE_LOG", "NCCL version 2.28.9", 1);
  EXPECT_EQ(RunAsJson().size(), 1u);
  unsetenv("CUDA_FAKE_LOG");
}

}  // namespace
}  // namespace assay
