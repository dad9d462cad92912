// `assay-runner selftest` where there are GPUs, several or none: the runner itself, on GPUs that
// do not exist.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/subprocess.h"
#include "runner/exit_codes.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kCount[] = "CUDA_FAKE_COUNT";
constexpr char kWrong[] = "CUDA_FAKE_WRONG";
constexpr char kCrash[] = "CUDA_FAKE_CRASH";
constexpr char kFault[] = "CUDA_FAKE_FAULT";
constexpr char kHang[] = "CUDA_FAKE_HANG";
constexpr char kVisible[] = "CUDA_VISIBLE_DEVICES";
constexpr char kNvml[] = "ASSAY_NVML_LIBRARY";

// Of what several GPUs say at once, in the order of GPUs.
std::vector<std::string> LinesOfGpu(const std::string& output, int gpu) {
  std::vector<std::string> lines;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);) {
    if (line.find(" on GPU " + std::to_string(gpu)) != std::string::npos) lines.push_back(line);
  }
  return lines;
}

class SelftestOfGpus : public testing::Test {
 protected:
  // Not of the machine's own GPUs.
  void SetUp() override { setenv(kNvml, "/nonexistent/libnvidia-ml.so.1", 1); }
  void TearDown() override {
    for (const char* name : {kCount, kWrong, kCrash, kFault, kHang, kVisible, kNvml}) {
      unsetenv(name);
    }
  }

  static CommandOutput Selftest(std::vector<std::string> arguments = {}) {
    SubprocessOptions options;
    options.argv = {ASSAY_FAKE_GPU_RUNNER, "selftest"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    auto output = RunCommand(std::move(options), 60s);
    EXPECT_TRUE(output.ok()) << output.status();
    return output.ok() ? *output : CommandOutput();
  }

  enum class Whom { kRunner, kItsProcesses };

  // Of a self-test that gets the signal once its output has all of `awaited`.
  static CommandOutput Stopped(int signal, const std::vector<std::string>& awaited,
                               const std::vector<std::string>& arguments = {},
                               Whom whom = Whom::kRunner) {
    CommandOutput output;
    auto pipe = MakePipe();
    SubprocessOptions options;
    options.argv = {ASSAY_FAKE_GPU_RUNNER, "selftest"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.descriptors = {{1, pipe->write.get()}, {2, pipe->write.get()}};
    options.die_with_parent = true;  // Should it not end by itself.
    auto runner = Subprocess::Spawn(options);
    EXPECT_TRUE(runner.ok()) << runner.status();
    if (!runner.ok()) return output;
    pipe->write.Close();
    bool sent = false;
    char chunk[1024];
    // To its end: when all processes have ended that were started.
    for (ssize_t got = 0; (got = read(pipe->read.get(), chunk, sizeof chunk)) > 0;) {
      output.output.append(chunk, static_cast<size_t>(got));
      const bool all = std::all_of(awaited.begin(), awaited.end(), [&](const std::string& words) {
        return output.output.find(words) != std::string::npos;
      });
      if (!all || std::exchange(sent, true)) continue;
      if (whom == Whom::kRunner) {
        runner->Signal(signal);
      } else {
        const std::string pid = std::to_string(runner->pid());
        std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
        for (pid_t child = 0; children >> child;) kill(child, signal);
      }
    }
    output.exit = runner->Wait(60s).value_or(ExitStatus());
    return output;
  }
};

TEST_F(SelftestOfGpus, OneGpuNeedsNoName) {
  const CommandOutput output = Selftest();
  EXPECT_EQ(output.exit.code, kExitDone);
  EXPECT_EQ(output.output,
            "fake_all_reduce          unsupported: needs 2 GPUs; this node has 1\n"
            "fake_copy                ok\n"
            "fake_copy size=2         ok\n"
            "fake_copy size=4         unsupported: size 4 needs another GPU\n"
            "2 ok, 2 unsupported, 0 failed on GPU 0\n");
}

TEST_F(SelftestOfGpus, EachOfSeveralIsVerified) {
  setenv(kCount, "3", 1);
  const CommandOutput output = Selftest();
  EXPECT_EQ(output.exit.code, kExitDone);
  for (int gpu = 0; gpu < 3; ++gpu) {
    const std::string where = " on GPU " + std::to_string(gpu);
    EXPECT_THAT(
        LinesOfGpu(output.output, gpu),
        ElementsAre("fake_copy                ok" + where, "fake_copy size=2         ok" + where,
                    "fake_copy size=4         unsupported" + where + ": size 4 needs another GPU"));
  }
  EXPECT_THAT(output.output, HasSubstr("fake_all_reduce          ok on GPUs 0, 1\n"
                                       "7 ok, 3 unsupported, 0 failed on GPUs 0 to 2\n"));
}

TEST_F(SelftestOfGpus, AWrongOneThatIsNotTheFirstFails) {
  setenv(kCount, "3", 1);
  setenv(kWrong, "2", 1);
  const CommandOutput output = Selftest();
  EXPECT_EQ(output.exit.code, kExitFailed);
  EXPECT_THAT(output.output, HasSubstr("fake_copy                ok on GPU 1\n"));
  EXPECT_THAT(output.output, HasSubstr("fake_copy                failed on GPU 2: before timing: "
                                       "element 7 is 1, should be 0"));
  EXPECT_THAT(output.output,
              HasSubstr("\n5 ok, 3 unsupported, 2 failed on GPUs 0 to 2; failed on GPU 2\n"));
}

TEST_F(SelftestOfGpus, AProcessThatCrashesFailsItsOwnGpu) {
  setenv(kCount, "2", 1);
  setenv(kCrash, "1", 1);
  const CommandOutput output = Selftest({"fake_copy"});
  EXPECT_EQ(output.exit.code, kExitFailed);
  EXPECT_THAT(output.output, HasSubstr("fake_copy size=2         ok on GPU 0\n"));
  EXPECT_THAT(output.output, HasSubstr("fake_copy size=2         failed on GPU 1: the process of "
                                       "this GPU was killed by signal 9 (Killed)\n"));
  EXPECT_THAT(output.output,
              HasSubstr("\n2 ok, 1 unsupported, 3 failed on GPUs 0, 1; failed on GPU 1\n"));
}

TEST_F(SelftestOfGpus, WhatIsWrongOnAnyGpuIsNoFaultOfEach) {
  for (const char* count : {"1", "2"}) {
    setenv(kCount, count, 1);
    const CommandOutput output = Selftest({"fake_copy", "size=5"});
    EXPECT_EQ(output.exit.code, kExitUsage);
    EXPECT_THAT(output.output, HasSubstr("5 fits no GPU\n"));
    EXPECT_THAT(output.output, Not(HasSubstr("; failed on")));
  }
}

TEST_F(SelftestOfGpus, OneIsChosen) {
  setenv(kCount, "3", 1);
  setenv(kWrong, "2", 1);
  const CommandOutput one = Selftest({"--gpu", "1"});
  EXPECT_EQ(one.exit.code, kExitDone);
  EXPECT_EQ(one.output,
            "fake_copy                ok on GPU 1\n"
            "fake_copy size=2         ok on GPU 1\n"
            "fake_copy size=4         unsupported on GPU 1: size 4 needs another GPU\n"
            "2 ok, 1 unsupported, 0 failed on GPU 1\n");
  EXPECT_EQ(Selftest({"fake_copy", "size=2", "--gpu", "2"}).exit.code, kExitFailed);
  const CommandOutput absent = Selftest({"--gpu", "3"});
  EXPECT_EQ(absent.exit.code, kExitUnsupported);
  EXPECT_EQ(absent.output,
            "assay-runner: there is no GPU 3 to verify: this machine has GPUs 0 to 2\n");
  EXPECT_THAT(Selftest({"--gpu"}).output, HasSubstr("--gpu needs a value"));
  const CommandOutput gang = Selftest({"--gpu", "1", "fake_all_reduce"});
  EXPECT_EQ(gang.exit.code, kExitUsage);
  EXPECT_THAT(gang.output, HasSubstr("takes GPUs 0 to 1, each rank its own"));
}

TEST_F(SelftestOfGpus, WhatIsNamedAndUnsupportedIsNotDone) {
  for (const char* count : {"1", "2"}) {
    setenv(kCount, count, 1);
    EXPECT_EQ(Selftest({"fake_copy"}).exit.code, kExitDone);  // Nobody named size 4.
    const CommandOutput named = Selftest({"fake_copy", "fake_copy", "size=4"});
    EXPECT_EQ(named.exit.code, kExitUnsupported);
    EXPECT_THAT(named.output, HasSubstr("fake_copy size=4         unsupported"));
  }
  EXPECT_EQ(Selftest({"fake_all_reduce", "ranks=3"}).exit.code, kExitUnsupported);
  // A failure outweighs it, and parameters that contradict each other do.
  setenv(kWrong, "1", 1);
  EXPECT_EQ(Selftest({"fake_copy", "fake_copy", "size=4"}).exit.code, kExitFailed);
  unsetenv(kWrong);
  const CommandOutput odd = Selftest({"fake_copy", "size=3", "fake_copy", "size=4"});
  EXPECT_EQ(odd.exit.code, kExitUsage);
  EXPECT_THAT(odd.output, HasSubstr("fake_copy size=3         failed: size is 3; it must not be\n"
                                    "0 ok, 2 unsupported, 1 failed on GPUs 0, 1\n"));
}

TEST_F(SelftestOfGpus, AMachineWithoutGpusIsToldSo) {
  setenv(kCount, "0", 1);
  const CommandOutput all = Selftest();
  EXPECT_EQ(all.exit.code, kExitDone);
  EXPECT_THAT(all.output, HasSubstr("4 unsupported, 0 failed; no GPU was verified: needs a CUDA "
                                    "GPU; this node has none\n"));
  EXPECT_EQ(Selftest({"fake_copy"}).exit.code, kExitUnsupported);
  for (const std::vector<std::string>& wish :
       std::vector<std::vector<std::string>>{{"--require-gpu"}, {"--gpu", "0"}}) {
    const CommandOutput wished = Selftest(wish);
    EXPECT_EQ(wished.exit.code, kExitUnsupported);
    EXPECT_EQ(wished.output,
              "assay-runner: there is no GPU to verify: needs a CUDA GPU; this node has none\n");
  }
  setenv(kCount, "1", 1);
  EXPECT_EQ(Selftest({"--require-gpu"}).exit.code, kExitDone);
}

TEST_F(SelftestOfGpus, OnesThatCannotBeUsedFail) {
  setenv(kFault, "the fabric manager is not running", 1);
  for (const std::vector<std::string>& wish :
       std::vector<std::vector<std::string>>{{}, {"--require-gpu"}, {"--gpu", "0"}}) {
    const CommandOutput broken = Selftest(wish);
    EXPECT_EQ(broken.exit.code, kExitFailed);
    EXPECT_THAT(broken.output,
                HasSubstr("fake_copy                failed: the fabric manager is not running\n"));
    EXPECT_THAT(broken.output, Not(HasSubstr(" ok\n")));
  }
}

TEST_F(SelftestOfGpus, OneThatHangsHoldsUpNoOther) {
  setenv(kCount, "3", 1);
  setenv(kHang, "0", 1);
  for (const auto& [signal, name] : {std::pair(SIGINT, "SIGINT"), {SIGTERM, "SIGTERM"}}) {
    const CommandOutput output = Stopped(
        signal, {"GPU 0: hangs\n", "unsupported on GPU 1: size 4", "unsupported on GPU 2: size 4"});
    EXPECT_EQ(output.exit.code, kExitSignal + signal) << output.exit.ToString();
    EXPECT_THAT(output.output, HasSubstr("fake_copy                ok on GPU 0\n"));
    EXPECT_THAT(output.output,
                ContainsRegex("\nfake_copy size=2         no answer on GPU 0 for [0-9]+ s\n"));
    EXPECT_THAT(output.output,
                HasSubstr(std::string("\n5 ok, 2 unsupported, 0 failed on GPUs 0 to 2; ") + name +
                          " came before 1 had answered on GPU 0, 2 had not begun\n"));
  }
}

// Whoever signals all processes may reach one of these before the runner.
TEST_F(SelftestOfGpus, ASignalThatItsProcessesGetIsNoFaultOfTheirs) {
  setenv(kCount, "3", 1);
  setenv(kHang, "0", 1);
  const CommandOutput output = Stopped(
      SIGTERM, {"GPU 0: hangs\n", "unsupported on GPU 1: size 4", "unsupported on GPU 2: size 4"},
      {}, Whom::kItsProcesses);
  EXPECT_EQ(output.exit.code, kExitSignal + SIGTERM) << output.exit.ToString();
  EXPECT_THAT(output.output, Not(HasSubstr("GPU 0: fake_copy")));
  EXPECT_THAT(output.output,
              HasSubstr("\n5 ok, 2 unsupported, 0 failed on GPUs 0 to 2; SIGTERM came before 1 had "
                        "answered on GPU 0, 2 had not begun\n"));
}

TEST_F(SelftestOfGpus, TheOnlyOneThatHangsIsTold) {
  setenv(kHang, "0", 1);
  const CommandOutput only = Stopped(SIGTERM, {"hangs\n"});
  EXPECT_EQ(only.exit.code, kExitSignal + SIGTERM) << only.exit.ToString();
  EXPECT_THAT(only.output,
              AllOf(HasSubstr("fake_copy                ok\n"),
                    ContainsRegex("\nfake_copy size=2         no answer for [0-9]+ s\n"),
                    HasSubstr("\n1 ok, 1 unsupported, 0 failed on GPU 0; SIGTERM came before 1 had "
                              "answered, 1 had not begun\n")));
  setenv(kCount, "2", 1);
  EXPECT_THAT(Stopped(SIGINT, {"hangs\n"}, {"--gpu", "0", "fake_copy"}).output,
              ContainsRegex("size=2         no answer on GPU 0 for"));
}

TEST_F(SelftestOfGpus, ADriverThatHangsIsTold) {
  setenv(kHang, "list", 1);
  const CommandOutput output = Stopped(SIGINT, {"hangs\n"});
  EXPECT_EQ(output.exit.code, kExitSignal + SIGINT) << output.exit.ToString();
  EXPECT_THAT(output.output, HasSubstr("SIGINT came before the driver had said which GPUs it has"));
}

// Whether a thread of the process sleeps, other than its first.
bool AnotherThreadSleeps(pid_t pid) {
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    if (task.path().filename() == std::to_string(pid)) continue;
    std::ifstream stat(task.path() / "stat");
    std::string id;
    std::string name;
    std::string state;
    if (stat >> id >> name >> state && state == "S") return true;
  }
  return false;
}

// As where a library writes its log to stdout, and holds it.
TEST_F(SelftestOfGpus, ASignalEndsOneWhoseLibraryWaitsForAReader) {
  setenv(kHang, "list", 1);
  auto pipe = MakePipe();
  ASSERT_TRUE(pipe.ok());
  const std::string page(4096, 'x');
  ASSERT_EQ(fcntl(pipe->write.get(), F_SETPIPE_SZ, page.size()), static_cast<int>(page.size()));
  ASSERT_EQ(write(pipe->write.get(), page.data(), page.size()), static_cast<ssize_t>(page.size()));
  SubprocessOptions options;
  options.argv = {ASSAY_FAKE_GPU_RUNNER, "selftest"};
  options.descriptors = {{1, pipe->write.get()}};
  auto runner = Subprocess::Spawn(options);
  ASSERT_TRUE(runner.ok()) << runner.status();
  while (!AnotherThreadSleeps(runner->pid())) std::this_thread::yield();
  runner->Signal(SIGINT);
  const auto exit = runner->Wait(30s);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, kExitSignal + SIGINT) << exit->ToString();
}

TEST_F(SelftestOfGpus, AllThatNvmlListsAreRequired) {
  setenv(kNvml, ASSAY_FAKE_NVML, 1);
  setenv(kCount, "8", 1);
  EXPECT_EQ(Selftest({"--require-gpu", "fake_copy"}).exit.code, kExitDone);
  setenv(kCount, "7", 1);
  const CommandOutput lacks = Selftest({"--require-gpu", "fake_copy"});
  EXPECT_EQ(lacks.exit.code, kExitUnsupported);
  EXPECT_THAT(lacks.output, HasSubstr("assay-runner: CUDA offers 7 of the 8 GPUs that NVML lists, "
                                      "not its GPU 7 at 00000000:F7:00.0: look at"));
  EXPECT_THAT(lacks.output, Not(HasSubstr("fake_copy")));
  EXPECT_EQ(Selftest({"fake_copy"}).exit.code, kExitDone);
  EXPECT_EQ(Selftest({"--require-gpu", "--gpu", "6", "fake_copy"}).exit.code, kExitDone);
}

TEST_F(SelftestOfGpus, OnesThatAreHiddenOnPurposeAreCounted) {
  setenv(kNvml, ASSAY_FAKE_NVML, 1);
  setenv(kCount, "2", 1);
  setenv(kVisible, "4,5", 1);
  const CommandOutput two = Selftest({"--require-gpu", "fake_copy"});
  EXPECT_EQ(two.exit.code, kExitDone);
  EXPECT_THAT(two.output, HasSubstr("0 failed on GPUs 0, 1; 2 of the 8 GPUs that NVML lists, by "
                                    "CUDA_VISIBLE_DEVICES=\"4,5\""));
  setenv(kVisible, "4,5,9,6", 1);
  const CommandOutput fewer = Selftest({"--require-gpu", "fake_copy"});
  EXPECT_EQ(fewer.exit.code, kExitUnsupported);
  EXPECT_THAT(fewer.output, HasSubstr("\"4,5,9,6\" names 4 GPUs and CUDA offers the first 2: "));
}

TEST_F(SelftestOfGpus, WithoutNvmlNobodyKnowsWhetherTheseAreAll) {
  const CommandOutput output = Selftest({"--require-gpu", "fake_copy"});
  EXPECT_EQ(output.exit.code, kExitDone);
  EXPECT_THAT(output.output,
              HasSubstr("0 failed on GPU 0; whether CUDA offers all GPUs could not be checked: "
                        "cannot load /nonexistent/libnvidia-ml.so.1"));
}

}  // namespace
}  // namespace assay
