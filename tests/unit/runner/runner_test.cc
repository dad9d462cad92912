// assay-runner as a process: its command line and the agent's protocol.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <string>
#include <vector>

#include "assay/v1/runner.pb.h"
#include "common/subprocess.h"
#include "runner/exit_codes.h"
#include "runner/frame_io.h"
#include "tests/unit/runner/invoke_runner.h"
#include "tests/unit/runner/served_rank.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const std::map<std::string, std::string> kSmallStream = {
    {"op", "copy"}, {"bytes", "65536"}, {"threads", "1"}};

TEST(RunnerCommandLine, ExitCodesTellWhatHappened) {
  EXPECT_EQ(Invoke({"list"}).exit.code, kExitDone);
  EXPECT_THAT(Invoke({"list", "cpu_gemm"}).output, HasSubstr("gflops"));
  EXPECT_EQ(Invoke({"selftest"}).exit.code, kExitDone);
  EXPECT_EQ(Invoke({}).exit.code, kExitUsage);
  EXPECT_EQ(Invoke({"frobnicate"}).exit.code, kExitUsage);
  EXPECT_EQ(Invoke({"run"}).exit.code, kExitUsage);
  EXPECT_EQ(Invoke({"serve"}).exit.code, kExitUsage);
}

TEST(RunnerCommandLine, OutputThatCannotBeWrittenIsAnError) {
  SubprocessOptions options;
  options.argv = {"/bin/sh", "-c", ASSAY_RUNNER " list >/dev/full"};
  const auto output = RunCommand(std::move(options), 60s);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->exit.code, kExitFailed);
  EXPECT_EQ(output->output, "assay-runner: cannot write the output\n");
}

// OpenBLAS's threads ask for their buffers without end there, and a fork waits for them.
TEST(RunnerCommandLine, AGangEndsWhereTheAddressSpaceIsLimited) {
#ifdef ASSAY_SANITIZED
  GTEST_SKIP() << "a sanitizer maps more than any limit";
#endif
  SubprocessOptions options;
  options.argv = {"/bin/sh", "-c",
                  "ulimit -v 150000; exec " ASSAY_RUNNER " selftest tcp_all_reduce"};
  const auto output = RunCommand(std::move(options), 60s);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->exit.code, kExitDone) << output->output;
}

TEST(RunnerCommandLine, AThreadThatTheSystemRefusesIsAnError) {
#ifdef ASSAY_SANITIZED
  GTEST_SKIP() << "a sanitizer maps more than any limit";
#endif
  SubprocessOptions options;
  options.argv = {"/bin/sh", "-c",
                  "ulimit -v 150000; ulimit -S -s 400000; echo 1 2 7 0 TOKEN | " ASSAY_RUNNER
                  " rank tcp_all_reduce"};
  const auto output = RunCommand(std::move(options), 60s);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->exit.code, kExitFailed);
  EXPECT_THAT(output->output, HasSubstr("assay-runner: the system refused memory or threads"));
}

TEST(RunnerCommandLine, BadArgumentsSayWhatIsAllowed) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"run", "cpu_gem"}, "did you mean \"cpu_gemm\"?"},
      {{"run", "cpu_gemm", "dtype=bf17"}, "one of fp32, fp64"},
      {{"run", "cpu_gemm", "m=0"}, "from 1 to 65536"},
      {{"run", "cpu_gemm", "mm=4"}, "did you mean"},
      {{"run", "cpu_gemm", "m=4", "m=5"}, "given twice"},
      {{"run", "cpu_gemm", "m"}, "neither NAME=VALUE nor an option"},
      {{"run", "cpu_gemm", "-o"}, "needs a value"},
      {{"run", "cpu_gemm", "-o", "yaml"}, "one of table, json"},
      {{"run", "cpu_gemm", "--seed", "x"}, "whole number"},
      {{"run", "cpu_gemm", "--seed", "18446744073709551615"}, "from 0 to 9223372036854775807"},
      {{"run", "cpu_gemm", "--gpu", "5000"}, "from 0 to 4096"},
      {{"run", "cpu_gemm", "--gpu", "0"}, "cpu_gemm does not run on GPUs; name none"},
      {{"run", "tcp_all_reduce", "--gpu", "1"}, "does not run on GPUs"},
      {{"run", "cpu_gemm", "--counters"},
       "--counters: cpu_gemm does not run on a GPU, and hardware counters are read of benchmarks "
       "on one GPU; leave it out"},
      {{"rank", "tcp_all_reduce"}, "assay-runner's own use"},
      {{"list", "nothing"}, "no benchmark is called"},
      {{"list", "--foo"}, "\"--foo\" is no option of `list`; its only one is --help"},
      {{"list", "cpu_gemm", "--foo"}, "\"--foo\" is no option of `list`"},
      {{"--foo"}, "\"--foo\" is no option of `assay-runner`; there are --help, --version"},
      {{"run", "cpu_gemm", "--foo=3"},
       "\"--foo=3\" is no option of `run`; there are -o, --seed, --gpu, --counters, --help"},
      {{"run", "--foo"}, "\"--foo\" is no option of `run`"},
      {{"run", "-o", "json", "cpu_gemm"}, "the benchmark's name comes before -o"},
      {{"check"}, "check: the benchmark's name is missing"},
      {{"check", "cpu_gem"}, "did you mean \"cpu_gemm\"?"},
      {{"check", "cpu_gemm", "m"}, "neither NAME=VALUE nor an option of `check`"},
      {{"check", "cpu_gemm", "--seed=3"}, "\"--seed=3\" is no option of `check`"},
      {{"selftest", "-o"}, "`selftest`; there are --gpu, --require-gpu, --help"},
      {{"selftest", "cpu_gemm", "--gpu", "0"}, "cpu_gemm does not run on GPUs; name none"},
      {{"selftest", "cpu_gemm", "--seed=3"}, "\"--seed=3\" is no option of `selftest`"},
      {{"selftest", "cpu_gem"}, "did you mean \"cpu_gemm\"?"},
      {{"selftest", "cpu_gemm", "dtype=bf17"}, "one of fp32, fp64"},
      {{"selftest", "cpu_gemm", "m=4", "m=5"}, "given twice"},
  };
  for (const auto& [arguments, message] : cases) {
    const CommandOutput output = Invoke(arguments);
    EXPECT_EQ(output.exit.code, kExitUsage) << output.output;
    EXPECT_THAT(output.output, HasSubstr(message));
  }
}

TEST(RunnerCommandLine, EveryCommandExplainsItself) {
  for (const char* command : {"list", "run", "selftest"}) {
    const CommandOutput output = Invoke({command, "--help"});
    EXPECT_EQ(output.exit.code, kExitDone) << command;
    EXPECT_THAT(output.output, HasSubstr("assay-runner selftest [NAME [k=v...]]... [--gpu N]"));
  }
}

TEST(RunnerCommandLine, ASelftestTakesOtherParametersThanItsOwn) {
  const CommandOutput output = Invoke({"selftest", "cpu_vector_sum", "variant=scalar", "elements=7",
                                       "cpu_gemm", "cpu_gemm", "dtype=fp64"});
  EXPECT_EQ(output.exit.code, kExitDone);
  EXPECT_EQ(output.output,
            "cpu_vector_sum elements=7 variant=scalar ok\n"
            "cpu_gemm                 ok\n"
            "cpu_gemm dtype=fp64      ok\n"
            "3 ok, 0 unsupported, 0 failed\n");
  const CommandOutput odd = Invoke({"selftest", "cpu_memory_bandwidth", "bytes=12"});
  EXPECT_EQ(odd.exit.code, kExitUsage);
  EXPECT_THAT(odd.output, HasSubstr("must be a multiple of 8"));
}

TEST(RunnerCommandLine, DescriptionsNameNoParameterOfOtherBenchmarks) {
  for (const std::string benchmark : {"gemm", "sustained", "overlap"}) {
    const CommandOutput output = Invoke({"list", benchmark});
    if (output.exit.code == kExitUsage) continue;  // Not of this build.
    EXPECT_THAT(output.output,
                HasSubstr("\n  n            a multiple of 16 with dtype fp8_e4m3 or fp8_e5m2\n"));
    EXPECT_EQ(output.output.find("layout") != std::string::npos, benchmark == "gemm");
  }
}

TEST(RunnerCommandLine, CheckTellsWhatContradictsEachOtherAndRunsNothing) {
  const CommandOutput odd = Invoke({"check", "cpu_memory_bandwidth", "bytes=12"});
  EXPECT_EQ(odd.exit.code, kExitUsage);
  EXPECT_EQ(odd.output,
            "assay-runner: invalid parameters: bytes: is 12; it must be a multiple of 8\n");
  const CommandOutput sound = Invoke({"check", "cpu_memory_bandwidth", "bytes=16"});
  EXPECT_EQ(sound.exit.code, kExitDone);
  EXPECT_EQ(sound.output, "");
}

// Nor does a node without a GPU hide that the user has to mend something.
TEST(RunnerCommandLine, AContradictionNeedsNoGpuToBeFound) {
  if (Invoke({"list"}).output.find("softmax ") == std::string::npos) {
    GTEST_SKIP() << "no benchmark of this build runs on GPUs";
  }
  const std::string rule = "columns: is 33; it must be at most 32 with variant warp: a lane each";
  for (const char* command : {"run", "selftest", "check"}) {
    const CommandOutput output = Invoke({command, "softmax", "variant=warp", "columns=33"});
    EXPECT_EQ(output.exit.code, kExitUsage) << output.output;
    EXPECT_THAT(output.output, HasSubstr(rule));
  }
}

TEST(RunnerCommandLine, SeveralNodesAreNoJobForOneRunner) {
  if (Invoke({"list"}).output.find("all_gather ") == std::string::npos) {
    GTEST_SKIP() << "no benchmark of this build has the parameter `nodes`";
  }
  const CommandOutput output = Invoke({"run", "all_gather", "ranks=4", "nodes=2"});
  EXPECT_EQ(output.exit.code, kExitUsage) << output.output;
  EXPECT_THAT(output.output, HasSubstr("needs agents on them, and a campaign"));
}

TEST(RunnerCommandLine, RanksTakeAGpuEach) {
  if (Invoke({"list"}).output.find("all_gather ") == std::string::npos) {
    GTEST_SKIP() << "no benchmark of this build takes several GPUs";
  }
  const CommandOutput output = Invoke({"run", "all_gather", "ranks=2", "--gpu", "1"});
  EXPECT_EQ(output.exit.code, kExitUsage) << output.output;
  EXPECT_THAT(output.output, HasSubstr("with 2 ranks takes GPUs 0 to 1, each rank its own"));
}

TEST(RunnerCommandLine, SaysEachThingOnceAndSizesAsPeopleWriteThem) {
  EXPECT_EQ(Invoke({"run", "cpu_gemm", "dtype=bf17"}).output,
            "assay-runner: invalid parameters: dtype: \"bf17\" is not one of fp32, fp64\n");
  EXPECT_EQ(Invoke({"run", "cpu_gemm", "dtype=bf17", "m=0"}).output,
            "assay-runner: invalid parameters: m: \"0\" is not a whole number from 1 to 65536\n"
            "  dtype: \"bf17\" is not one of fp32, fp64\n");
  EXPECT_THAT(Invoke({"list", "tcp_all_reduce"}).output, HasSubstr("; default 16MiB\n"));
  EXPECT_THAT(Invoke({"run", "cpu_memory_bandwidth", "op=copy", "bytes=65536", "threads=1"}).output,
              HasSubstr("cpu_memory_bandwidth bytes=64KiB op=copy threads=1\n"));
}

TEST(RunnerCommandLine, RunsACaseAsJson) {
  const CommandOutput output =
      Invoke({"run", "cpu_memory_bandwidth", "op=copy", "bytes=64KiB", "threads=1", "-o", "json"});
  EXPECT_EQ(output.exit.code, kExitDone) << output.output;
  // Only the end of the output is kept: a busy machine takes thousands of samples.
  EXPECT_THAT(output.output, HasSubstr("\"verified\":true"));
  EXPECT_THAT(output.output, HasSubstr("\"elements_checked\":8192"));
  EXPECT_THAT(output.output, HasSubstr("\"topology\":\"none\""));
}

TEST(RunnerCommandLine, ACollectiveStartsItsOwnRanks) {
  const CommandOutput output =
      Invoke({"run", "tcp_all_reduce", "ranks=3", "bytes=1000", "-o", "json"});
  EXPECT_EQ(output.exit.code, kExitDone) << output.output;
  // Only the end of the output is kept.
  EXPECT_NE(output.output.find("\"metric\":\"algorithm_bandwidth\""), std::string::npos);
  EXPECT_NE(output.output.find("\"elements_checked\":750"), std::string::npos);
}

TEST(RunnerCommandLine, RanksThatSpinNeedACpuEach) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // And so of what it starts.
  const CommandOutput spins = Invoke({"run", "tcp_latency", "wait=spin"});
  const CommandOutput sleeps = Invoke({"run", "tcp_latency"});
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(spins.exit.code, kExitUnsupported) << spins.output;
  EXPECT_THAT(spins.output, HasSubstr("ranks 0, 1 share a host and may use 1"));
  EXPECT_EQ(sleeps.exit.code, kExitDone) << sleeps.output;
}

TEST(RunnerProtocol, DescribeDeclaresEveryBenchmark) {
  Rank runner("describe");
  const v1::RunnerEvent event = runner.Next();
  ASSERT_TRUE(event.has_description());
  EXPECT_EQ(runner.Wait().code, kExitDone);
  std::vector<std::string> names;
  for (const v1::BenchmarkSchema& schema : event.description().benchmarks()) {
    names.push_back(schema.name());
    EXPECT_GT(schema.metrics_size(), 0);
    EXPECT_NE(schema.resource(), v1::RESOURCE_KIND_UNSPECIFIED);
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"cpu_gemm", "cpu_memory_bandwidth", "tcp_all_reduce"}));
}

TEST(RunnerProtocol, ServesCasesInOrder) {
  Rank runner("serve");
  runner.Send(Start("cpu_memory_bandwidth", {kSmallStream, {{"op", "swap"}}, kSmallStream}));
  EXPECT_TRUE(runner.Next().has_ready());
  const v1::CaseResult first = runner.Next().case_result();
  EXPECT_EQ(first.case_index(), 10);
  ASSERT_EQ(first.outcome(), v1::CASE_OUTCOME_OK) << first.failure().message();
  EXPECT_EQ(first.benchmark(), "cpu_memory_bandwidth");
  ASSERT_EQ(first.measurements_size(), 2);
  EXPECT_EQ(first.measurements(0).metric(), "bandwidth");
  EXPECT_EQ(first.measurements(0).samples_size(), first.measurements(0).n());
  EXPECT_EQ(first.measurements(1).samples_size(), 0);
  EXPECT_FALSE(first.measurements(0).method().stop_reason().empty());
  EXPECT_TRUE(first.verification().passed());
  EXPECT_EQ(first.prediction().bytes(), 131072);
  EXPECT_TRUE(first.has_end_time());
  const v1::CaseResult second = runner.Next().case_result();
  EXPECT_EQ(second.case_index(), 11);
  EXPECT_EQ(second.outcome(), v1::CASE_OUTCOME_FAILED);
  EXPECT_EQ(second.failure().failure_class(), v1::FAILURE_CLASS_USER);
  EXPECT_EQ(second.failure().reason(), "INVALID_PARAMETER");
  EXPECT_EQ(runner.Next().case_result().case_index(), 12);
  EXPECT_EQ(runner.Next().finished().cases_run(), 3);
  EXPECT_EQ(runner.Wait().code, kExitDone);
}

TEST(RunnerProtocol, WhatDoesNotFitIsToldWithWhatWould) {
  Rank runner("serve");
  runner.Send(Start("cpu_memory_bandwidth", {{{"bytes", "1TiB"}}}));
  EXPECT_TRUE(runner.Next().has_ready());
  const v1::CaseResult result = runner.Next().case_result();
  EXPECT_EQ(result.outcome(), v1::CASE_OUTCOME_FAILED);
  EXPECT_EQ(result.failure().reason(), "OUT_OF_MEMORY");
  EXPECT_THAT(result.failure().message(), HasSubstr(" are available; three arrays of "));
  EXPECT_THAT(result.failure().message(), testing::EndsWith(" would fit"));
}

// The agent closes stdin as soon as it has read Finished: no interruption, however
// late the runner leaves.
TEST(RunnerProtocol, TheEndOfStdinAfterFinishedIsNoStop) {
  for (int i = 0; i < 50; ++i) {
    Rank runner("serve");
    runner.Send(Start("cpu_memory_bandwidth", {{{"op", "swap"}}}));
    while (!runner.Next().has_finished()) {
    }
    runner.CloseCommands();
    EXPECT_EQ(runner.Wait().code, kExitDone);
  }
}

TEST(RunnerProtocol, WrongStartsEndAtOnce) {
  v1::RunnerCommand beyond = Start("cpu_gemm", {});
  beyond.mutable_start()->set_rank(5);
  v1::RunnerCommand rendezvous;
  rendezvous.mutable_rendezvous()->set_token("x");
  for (const v1::RunnerCommand& command :
       {Start("nothing", {}), beyond, rendezvous, v1::RunnerCommand()}) {
    Rank runner("serve");
    runner.Send(command);
    EXPECT_EQ(runner.Wait().code, kExitUsage);
  }
  for (const std::string& bytes : {std::string(10, '\xff'), EncodeFrame("\x08garbage")}) {
    Rank runner("serve");
    runner.SendRaw(bytes);
    EXPECT_EQ(runner.Wait().code, kExitUsage);
  }
}

TEST(RunnerProtocol, StopsWhenItsAgentIsGone) {
  {
    Rank waiting("serve");
    waiting.CloseCommands();
    EXPECT_EQ(waiting.Wait().code, kExitStopped);
  }
  const std::map<std::string, std::string> large = {{"bytes", "64MiB"}, {"op", "triad"}};
  {
    Rank running("serve");
    running.Send(Start("cpu_memory_bandwidth", {large, large, large}));
    EXPECT_TRUE(running.Next().has_ready());
    running.CloseCommands();
    EXPECT_EQ(running.Wait().code, kExitStopped);
  }
  {
    Rank unread("serve");
    unread.Send(Start("cpu_memory_bandwidth", {kSmallStream, kSmallStream}));
    EXPECT_TRUE(unread.Next().has_ready());
    unread.CloseEvents();
    EXPECT_EQ(unread.Wait().code, kExitStopped);
  }
  Rank terminated("serve");
  terminated.Send(Start("cpu_memory_bandwidth", {large, large, large}));
  EXPECT_TRUE(terminated.Next().has_ready());
  terminated.Signal(SIGTERM);
  EXPECT_EQ(terminated.Wait().signal, SIGTERM);
}

TEST(RunnerProtocol, ARankThatCannotListenBlamesItsNodeBeforeItIsReady) {
  for (const int number : {0, 1}) {
    v1::RunnerCommand start = Start("tcp_all_reduce", {{{"ranks", "2"}}});
    start.mutable_start()->set_world_size(2);
    start.mutable_start()->set_rank(number);
    start.mutable_start()->set_advertise_address("192.0.2.1");  // Nobody's: RFC 5737.
    Rank rank("serve");
    rank.Send(start);
    const v1::RunnerEvent event = rank.Next();
    EXPECT_EQ(event.aborted().failure().failure_class(), v1::FAILURE_CLASS_NODE);
    EXPECT_EQ(event.aborted().failure().reason(), "ADDRESS_UNUSABLE");
    EXPECT_THAT(event.aborted().failure().message(), HasSubstr("cannot listen on 192.0.2.1"));
    EXPECT_EQ(rank.Wait().code, kExitFailed);
  }
}

}  // namespace
}  // namespace assay
