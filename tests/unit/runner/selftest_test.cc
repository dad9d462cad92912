// Tests `assay-runner selftest` with one GPU, several GPUs or none. The runner is the real one; its
// GPUs are fakes (fake_gpus.cc).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "common/subprocess.h"
#include "runner/exit_codes.h"
#include "tests/wording.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
constexpr char kCount[] = "CUDA_FAKE_COUNT";
constexpr char kWrong[] = "CUDA_FAKE_WRONG";
constexpr char kCrash[] = "CUDA_FAKE_CRASH";
constexpr char kFaultVariable[] = "CUDA_FAKE_FAULT";
constexpr char kHang[] = "CUDA_FAKE_HANG";
constexpr char kVisible[] = "CUDA_VISIBLE_DEVICES";
constexpr char kNvml[] = "ASSAY_NVML_LIBRARY";

// Returns the lines that name the GPU.
std::vector<std::string> LinesOfGpu(const std::string& output, int gpu) {
  std::vector<std::string> lines;
  std::istringstream text(output);
  for (std::string line; std::getline(text, line);) {
    if (line.find(" on GPU " + std::to_string(gpu)) != std::string::npos) lines.push_back(line);
  }
  return lines;
}

std::string LastLine(const std::string& output) {
  const size_t end = output.find_last_not_of('\n');
  const size_t begin = output.rfind('\n', end);
  return output.substr(begin + 1, end - begin);  // npos + 1 is 0.
}

// Returns "ok", "failed", "unsupported" or "still" (running): the word after the name of the test
// in the first line that begins with this name.
std::string OutcomeOf(const std::string& output, const std::string& test) {
  std::string head = test;
  head.resize(std::max<size_t>(24, head.size()), ' ');
  const size_t begin = output.find(head + " ");
  if (begin == std::string::npos) return "absent";
  std::istringstream rest(output.substr(begin + head.size()));
  std::string outcome;
  rest >> outcome;
  while (!outcome.empty() && outcome.back() == ':') outcome.pop_back();
  return outcome;
}

// Returns the numbers of the last line: tests that were ok, unsupported and failed.
std::tuple<int, int, int> CountsOf(const std::string& output) {
  int ok = -1;
  int unsupported = -1;
  int failed = -1;
  std::sscanf(LastLine(output).c_str(), "%d ok, %d unsupported, %d failed", &ok, &unsupported,
              &failed);
  return {ok, unsupported, failed};
}

class SelftestOfGpus : public testing::Test {
 protected:
  // The tests do not read the NVML of this machine.
  void SetUp() override { setenv(kNvml, "/nonexistent/libnvidia-ml.so.1", 1); }
  void TearDown() override {
    for (const char* name : {kCount, kWrong, kCrash, kFaultVariable, kHang, kVisible, kNvml}) {
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

  // Sends the signal once the output of a self-test contains all of `awaited`.
  static CommandOutput Stopped(int signal, const std::vector<std::string>& awaited,
                               const std::vector<std::string>& arguments = {},
                               Whom whom = Whom::kRunner) {
    CommandOutput output;
    auto pipe = MakePipe();
    SubprocessOptions options;
    options.argv = {ASSAY_FAKE_GPU_RUNNER, "selftest"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.descriptors = {{1, pipe->write.get()}, {2, pipe->write.get()}};
    options.die_with_parent = true;  // In case the runner does not end by itself.
    auto runner = Subprocess::Spawn(options);
    EXPECT_TRUE(runner.ok()) << runner.status();
    if (!runner.ok()) return output;
    pipe->write.Close();
    bool sent = false;
    char chunk[1024];
    // Reads until all processes that were started have ended.
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

TEST_F(SelftestOfGpus, OneGpuIsNotNumbered) {
  const CommandOutput output = Selftest();
  EXPECT_EQ(output.exit.code, kExitDone);
  EXPECT_WORDING("runner/selftest-one-gpu", output.output);
}

TEST_F(SelftestOfGpus, EachOfSeveralIsVerified) {
  setenv(kCount, "3", 1);
  const CommandOutput output = Selftest();
  EXPECT_EQ(output.exit.code, kExitDone);
  for (int gpu = 0; gpu < 3; ++gpu) EXPECT_EQ(LinesOfGpu(output.output, gpu).size(), 3u);
  EXPECT_EQ(OutcomeOf(output.output, "fake_all_reduce"), "ok");
  EXPECT_EQ(CountsOf(output.output), std::tuple(7, 3, 0));
}

TEST_F(SelftestOfGpus, WrongResultOnOneGpuFailsAndNamesIt) {
  setenv(kCount, "3", 1);
  setenv(kWrong, "2", 1);
  const CommandOutput output = Selftest();
  EXPECT_EQ(output.exit.code, kExitFailed);
  EXPECT_EQ(OutcomeOf(LinesOfGpu(output.output, 1)[0], "fake_copy"), "ok");
  EXPECT_EQ(OutcomeOf(LinesOfGpu(output.output, 2)[0], "fake_copy"), "failed");
  EXPECT_WORDING("runner/selftest-failed-gpu", LastLine(output.output));
}

TEST_F(SelftestOfGpus, CrashedProcessFailsItsOwnGpu) {
  setenv(kCount, "2", 1);
  setenv(kCrash, "1", 1);
  const CommandOutput output = Selftest({"fake_copy"});
  EXPECT_EQ(output.exit.code, kExitFailed);
  EXPECT_EQ(OutcomeOf(LinesOfGpu(output.output, 0)[1], "fake_copy size=2"), "ok");
  EXPECT_WORDING("runner/selftest-crashed", LinesOfGpu(output.output, 1)[1]);
  EXPECT_EQ(CountsOf(output.output), std::tuple(2, 1, 3));
}

TEST_F(SelftestOfGpus, ContradictingParametersAreAUsageErrorAndBlameNoGpu) {
  for (const char* count : {"1", "2"}) {
    setenv(kCount, count, 1);
    const CommandOutput output = Selftest({"fake_copy", "size=5"});
    EXPECT_EQ(output.exit.code, kExitUsage);
    if (count[0] == '2') EXPECT_WORDING("runner/selftest-contradiction", LastLine(output.output));
  }
}

TEST_F(SelftestOfGpus, ChosenGpuIsVerifiedAlone) {
  setenv(kCount, "3", 1);
  setenv(kWrong, "2", 1);
  const CommandOutput one = Selftest({"--gpu", "1"});
  EXPECT_EQ(one.exit.code, kExitDone);
  EXPECT_EQ(LinesOfGpu(one.output, 1).size(), 4u);  // Three tests and the summary.
  EXPECT_EQ(CountsOf(one.output), std::tuple(2, 1, 0));
  EXPECT_EQ(Selftest({"fake_copy", "size=2", "--gpu", "2"}).exit.code, kExitFailed);
  EXPECT_EQ(Selftest({"--gpu", "3"}).exit.code, kExitUnsupported);
  EXPECT_EQ(Selftest({"--gpu"}).exit.code, kExitUsage);
  EXPECT_EQ(Selftest({"--gpu", "1", "fake_all_reduce"}).exit.code, kExitUsage);
}

TEST_F(SelftestOfGpus, NamedBenchmarkThatIsUnsupportedIsNotDone) {
  for (const char* count : {"1", "2"}) {
    setenv(kCount, count, 1);
    EXPECT_EQ(Selftest({"fake_copy"}).exit.code, kExitDone);  // The user did not name size 4.
    const CommandOutput named = Selftest({"fake_copy", "fake_copy", "size=4"});
    EXPECT_EQ(named.exit.code, kExitUnsupported);
    EXPECT_EQ(OutcomeOf(named.output, "fake_copy size=4"), "unsupported");
  }
  EXPECT_EQ(Selftest({"fake_all_reduce", "ranks=3"}).exit.code, kExitUnsupported);
  // Failures and contradicting parameters take precedence over it.
  setenv(kWrong, "1", 1);
  EXPECT_EQ(Selftest({"fake_copy", "fake_copy", "size=4"}).exit.code, kExitFailed);
  unsetenv(kWrong);
  const CommandOutput odd = Selftest({"fake_copy", "size=3", "fake_copy", "size=4"});
  EXPECT_EQ(odd.exit.code, kExitUsage);
  EXPECT_EQ(OutcomeOf(odd.output, "fake_copy size=3"), "failed");
  EXPECT_EQ(CountsOf(odd.output), std::tuple(0, 2, 1));
}

TEST_F(SelftestOfGpus, MachineWithoutGpusVerifiesNone) {
  setenv(kCount, "0", 1);
  const CommandOutput all = Selftest();
  EXPECT_EQ(all.exit.code, kExitDone);
  EXPECT_WORDING("runner/selftest-no-gpu", LastLine(all.output));
  EXPECT_EQ(Selftest({"fake_copy"}).exit.code, kExitUnsupported);
  EXPECT_EQ(Selftest({"--require-gpu"}).exit.code, kExitUnsupported);
  EXPECT_EQ(Selftest({"--gpu", "0"}).exit.code, kExitUnsupported);
  setenv(kCount, "1", 1);
  EXPECT_EQ(Selftest({"--require-gpu"}).exit.code, kExitDone);
}

TEST_F(SelftestOfGpus, UnusableGpusFail) {
  setenv(kFaultVariable, "the fabric manager is not running", 1);
  for (const std::vector<std::string>& wish :
       std::vector<std::vector<std::string>>{{}, {"--require-gpu"}, {"--gpu", "0"}}) {
    const CommandOutput broken = Selftest(wish);
    EXPECT_EQ(broken.exit.code, kExitFailed);
    EXPECT_EQ(OutcomeOf(broken.output, "fake_copy"), "failed");
    EXPECT_EQ(std::get<0>(CountsOf(broken.output)), 0);
  }
}

TEST_F(SelftestOfGpus, GpuThatHangsHoldsUpNoOther) {
  setenv(kCount, "3", 1);
  setenv(kHang, "0", 1);
  for (const int signal : {SIGINT, SIGTERM}) {
    const CommandOutput output = Stopped(
        signal, {"hangs\n", "unsupported on GPU 1: size 4", "unsupported on GPU 2: size 4"});
    EXPECT_EQ(output.exit.code, kExitSignal + signal) << output.exit.ToString();
    EXPECT_EQ(OutcomeOf(output.output, "fake_copy size=2"), "ok");  // On another GPU.
    EXPECT_EQ(OutcomeOf(LinesOfGpu(output.output, 0)[1], "fake_copy size=2"), "still");
    if (signal == SIGINT) EXPECT_WORDING("runner/selftest-interrupted", LastLine(output.output));
  }
}

// A user who signals all processes may reach the process of a GPU before the runner.
TEST_F(SelftestOfGpus, SignalToTheProcessOfAGpuIsNotItsFailure) {
  setenv(kCount, "3", 1);
  setenv(kHang, "0", 1);
  const CommandOutput output =
      Stopped(SIGTERM, {"hangs\n", "unsupported on GPU 1: size 4", "unsupported on GPU 2: size 4"},
              {}, Whom::kItsProcesses);
  EXPECT_EQ(output.exit.code, kExitSignal + SIGTERM) << output.exit.ToString();
  EXPECT_EQ(CountsOf(output.output), std::tuple(5, 2, 0));
}

TEST_F(SelftestOfGpus, OnlyGpuThatHangsIsNamed) {
  setenv(kHang, "0", 1);
  const CommandOutput only = Stopped(SIGTERM, {"hangs\n"});
  EXPECT_EQ(only.exit.code, kExitSignal + SIGTERM) << only.exit.ToString();
  EXPECT_EQ(OutcomeOf(only.output, "fake_copy size=2"), "still");
  EXPECT_EQ(CountsOf(only.output), std::tuple(1, 1, 0));
  setenv(kCount, "2", 1);
  const CommandOutput chosen = Stopped(SIGINT, {"hangs\n"}, {"--gpu", "0", "fake_copy"});
  EXPECT_EQ(OutcomeOf(LinesOfGpu(chosen.output, 0)[1], "fake_copy size=2"), "still");
}

TEST_F(SelftestOfGpus, SignalEndsTheWaitForTheDriver) {
  setenv(kHang, "list", 1);
  const CommandOutput output = Stopped(SIGINT, {"hangs\n"});
  EXPECT_EQ(output.exit.code, kExitSignal + SIGINT) << output.exit.ToString();
  EXPECT_WORDING("runner/selftest-driver-hangs", LastLine(output.output));
}

// Returns whether a thread of the process other than the first one sleeps.
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

// A library that writes its log to a full pipe holds the lock of stdout.
TEST_F(SelftestOfGpus, SignalEndsSelftestWhoseLibraryBlocksOnStdout) {
#ifdef ASSAY_SANITIZED
  GTEST_SKIP() << "a sanitizer has a thread that sleeps";
#endif
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

TEST_F(SelftestOfGpus, GpuThatCudaDoesNotOfferIsMissing) {
  setenv(kNvml, ASSAY_FAKE_NVML, 1);
  setenv(kCount, "8", 1);
  EXPECT_EQ(Selftest({"--require-gpu", "fake_copy"}).exit.code, kExitDone);
  setenv(kCount, "7", 1);
  const CommandOutput lacks = Selftest({"--require-gpu", "fake_copy"});
  EXPECT_EQ(lacks.exit.code, kExitUnsupported);
  EXPECT_WORDING("runner/selftest-missing-gpu", lacks.output);  // No test ran.
  EXPECT_EQ(Selftest({"fake_copy"}).exit.code, kExitDone);
  EXPECT_EQ(Selftest({"--require-gpu", "--gpu", "6", "fake_copy"}).exit.code, kExitDone);
}

TEST_F(SelftestOfGpus, GpusHiddenByTheUserAreCounted) {
  setenv(kNvml, ASSAY_FAKE_NVML, 1);
  setenv(kCount, "2", 1);
  setenv(kVisible, "4,5", 1);
  const CommandOutput two = Selftest({"--require-gpu", "fake_copy"});
  EXPECT_EQ(two.exit.code, kExitDone);
  EXPECT_WORDING("runner/selftest-hidden-gpus", LastLine(two.output));
  setenv(kVisible, "4,5,9,6", 1);
  EXPECT_EQ(Selftest({"--require-gpu", "fake_copy"}).exit.code, kExitUnsupported);
}

TEST_F(SelftestOfGpus, WithoutNvmlTheNumberOfGpusIsNotChecked) {
  const CommandOutput output = Selftest({"--require-gpu", "fake_copy"});
  EXPECT_EQ(output.exit.code, kExitDone);
  EXPECT_WORDING("runner/selftest-without-nvml", LastLine(output.output));
}

}  // namespace
}  // namespace assay
