// `assay-runner selftest` where there are GPUs, several or none: the runner itself, on GPUs that
// do not exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>
#include <utility>
#include <vector>

#include "common/subprocess.h"
#include "kernels/runner/exit_codes.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr char kCount[] = "CUDA_FAKE_COUNT";
constexpr char kWrong[] = "CUDA_FAKE_WRONG";
constexpr char kCrash[] = "CUDA_FAKE_CRASH";
constexpr char kFault[] = "CUDA_FAKE_FAULT";

class SelftestOfGpus : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {kCount, kWrong, kCrash, kFault}) unsetenv(name);
  }

  static CommandOutput Selftest(std::vector<std::string> arguments = {}) {
    SubprocessOptions options;
    options.argv = {ASSAY_FAKE_GPU_RUNNER, "selftest"};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    auto output = RunCommand(std::move(options), 60s);
    EXPECT_TRUE(output.ok()) << output.status();
    return output.ok() ? *output : CommandOutput();
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
  EXPECT_EQ(output.output,
            "fake_copy                ok on GPU 0\n"
            "fake_copy size=2         ok on GPU 0\n"
            "fake_copy size=4         unsupported on GPU 0: size 4 needs another GPU\n"
            "fake_copy                ok on GPU 1\n"
            "fake_copy size=2         ok on GPU 1\n"
            "fake_copy size=4         unsupported on GPU 1: size 4 needs another GPU\n"
            "fake_copy                ok on GPU 2\n"
            "fake_copy size=2         ok on GPU 2\n"
            "fake_copy size=4         unsupported on GPU 2: size 4 needs another GPU\n"
            "fake_all_reduce          ok on GPUs 0, 1\n"
            "7 ok, 3 unsupported, 0 failed on GPUs 0 to 2\n");
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

}  // namespace
}  // namespace assay
