// Tests assay-runner as a process: its command line, and its protocol with an agent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <string>
#include <vector>

#include "assay/v1/runner.pb.h"
#include "common/subprocess.h"
#include "common/text.h"
#include "runner/exit_codes.h"
#include "runner/frame_io.h"
#include "tests/unit/runner/invoke_runner.h"
#include "tests/unit/runner/served_rank.h"
#include "tests/wording.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

const std::map<std::string, std::string> kSmallStream = {
    {"op", "copy"}, {"bytes", "65536"}, {"threads", "1"}};

TEST(RunnerCommandLine, ExitCodesTellWhatHappened) {
  EXPECT_EQ(Invoke({"list"}).exit.code, kExitDone);
  EXPECT_EQ(Invoke({"list", "cpu_gemm"}).exit.code, kExitDone);
  EXPECT_EQ(Invoke({"selftest"}).exit.code, kExitDone);
  EXPECT_EQ(Invoke({}).exit.code, kExitUsage);
  EXPECT_EQ(Invoke({"frobnicate"}).exit.code, kExitUsage);
  EXPECT_EQ(Invoke({"run"}).exit.code, kExitUsage);
  EXPECT_EQ(Invoke({"serve"}).exit.code, kExitUsage);
  EXPECT_EQ(Invoke({"list", "nothing"}).exit.code, kExitUsage);
  EXPECT_EQ(Invoke({"rank", "tcp_all_reduce"}).exit.code, kExitUsage);
}

TEST(RunnerCommandLine, OutputThatCannotBeWrittenIsAnError) {
  for (const char* command : {"list", "selftest cpu_vector_sum"}) {
    SubprocessOptions options;
    options.argv = {"/bin/sh", "-c", std::string(ASSAY_RUNNER " ") + command + " >/dev/full"};
    const auto output = RunCommand(std::move(options), 60s);
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(output->exit.code, kExitFailed);
    EXPECT_EQ(output->output, "assay-runner: cannot write the output\n");
  }
}

// With too little memory OpenBLAS's threads retry their allocations forever, and fork(2) would wait
// for them.
TEST(RunnerCommandLine, GangRunsInALimitedAddressSpace) {
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

TEST(RunnerCommandLine, ThreadThatTheSystemRefusesIsAnError) {
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
  EXPECT_NE(output->output.find("refused memory or threads"), std::string::npos);
}

TEST(RunnerCommandLine, BadArgumentsAreUsageErrors) {
  std::string wording;
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--foo"},
           {"list", "--foo"},
           {"run", "-o", "json", "cpu_gemm"},
           {"run", "cpu_gem"},
           {"run", "cpu_gemm", "dtype=bf17", "m=0"},
           {"run", "cpu_gemm", "mm=4"},
           {"run", "cpu_gemm", "m=4", "m=5"},
           {"run", "cpu_gemm", "m"},
           {"run", "cpu_gemm", "-o"},
           {"run", "cpu_gemm", "-o", "yaml"},
           {"run", "cpu_gemm", "--sed=3"},
           {"run", "cpu_gemm", "--seed", "18446744073709551615"},
           {"run", "cpu_gemm", "--gpu", "5000"},
           {"run", "cpu_gemm", "--gpu", "0"},
           {"run", "tcp_all_reduce", "--gpu", "1"},
           {"run", "cpu_gemm", "--counters"},
           {"check"},
           {"check", "cpu_gem"},
           {"check", "cpu_gemm", "m"},
           {"check", "cpu_gemm", "--seed=3"},
           {"selftest", "-o"},
           {"selftest", "cpu_gemm", "--gpu", "0"},
           {"selftest", "cpu_gem"},
           {"selftest", "cpu_gemm", "m=4", "m=5"},
       }) {
    const CommandOutput output = Invoke(arguments);
    EXPECT_EQ(output.exit.code, kExitUsage) << output.output;
    wording += "$ assay-runner " + Join(arguments, " ") + "\n" + output.output;
  }
  EXPECT_WORDING("runner/bad-arguments", wording);
}

TEST(RunnerCommandLine, EveryCommandExplainsItself) {
  const std::string help = Invoke({"--help"}).output;
  EXPECT_WORDING("runner/help", help.substr(help.find('\n') + 1));  // Without the version.
  for (const char* command : {"list", "run", "selftest"}) {
    const CommandOutput output = Invoke({command, "--help"});
    EXPECT_EQ(output.exit.code, kExitDone) << command;
    EXPECT_EQ(output.output, help);
  }
}

TEST(RunnerCommandLine, SelftestTakesGivenParameters) {
  const CommandOutput output = Invoke({"selftest", "cpu_vector_sum", "variant=scalar", "elements=7",
                                       "cpu_gemm", "cpu_gemm", "dtype=fp64"});
  EXPECT_EQ(output.exit.code, kExitDone);
  EXPECT_EQ(output.output,
            "cpu_vector_sum elements=7 variant=scalar ok\n"
            "cpu_gemm                 ok\n"
            "cpu_gemm dtype=fp64      ok\n"
            "3 ok, 0 unsupported, 0 failed\n");
  EXPECT_EQ(Invoke({"selftest", "cpu_memory_bandwidth", "bytes=12"}).exit.code, kExitUsage);
}

TEST(RunnerCommandLine, CheckFindsContradictionsAndRunsNothing) {
  EXPECT_EQ(Invoke({"check", "cpu_memory_bandwidth", "bytes=12"}).exit.code, kExitUsage);
  const CommandOutput sound = Invoke({"check", "cpu_memory_bandwidth", "bytes=16"});
  EXPECT_EQ(sound.exit.code, kExitDone);
  EXPECT_EQ(sound.output, "");
}

TEST(RunnerCommandLine, SizesArePrintedWithUnits) {
  const std::string list = Invoke({"list", "tcp_all_reduce"}).output;
  EXPECT_NE(list.find("; default 16MiB\n"), std::string::npos) << list;
  const std::string run = Invoke({"run", "cpu_memory_bandwidth", "op=copy", "bytes=65536",
                                  "threads=1", "--effort", "quick"})
                              .output;
  EXPECT_NE(run.find("bytes=64KiB "), std::string::npos) << run;
}

TEST(RunnerCommandLine, CollectivesThatOneRunnerCannotRunAreRefused) {
  if (Invoke({"list"}).output.find("all_gather ") == std::string::npos) {
    GTEST_SKIP() << "this build has no collectives of GPUs";
  }
  EXPECT_EQ(Invoke({"run", "all_gather", "ranks=4", "nodes=2"}).exit.code, kExitUsage);
  EXPECT_EQ(Invoke({"run", "all_gather", "ranks=2", "--gpu", "1"}).exit.code, kExitUsage);
}

TEST(RunnerCommandLine, RunsACaseAsJson) {
  const CommandOutput output = Invoke({"run", "cpu_memory_bandwidth", "op=copy", "bytes=64KiB",
                                       "threads=1", "-o", "json", "--effort", "quick"});
  EXPECT_EQ(output.exit.code, kExitDone) << output.output;
  // RunCommand keeps only the end of the output: a busy machine takes thousands of samples.
  for (const char* field :
       {"\"verified\":true", "\"elements_checked\":8192", "\"topology\":\"none\""}) {
    EXPECT_NE(output.output.find(field), std::string::npos) << output.output;
  }
}

TEST(RunnerCommandLine, CollectiveStartsItsOwnRanks) {
  const CommandOutput output =
      Invoke({"run", "tcp_all_reduce", "ranks=3", "bytes=1000", "-o", "json", "--effort", "quick"});
  EXPECT_EQ(output.exit.code, kExitDone) << output.output;
  // RunCommand keeps only the end of the output.
  EXPECT_NE(output.output.find("\"metric\":\"algorithm_bandwidth\""), std::string::npos);
  EXPECT_NE(output.output.find("\"elements_checked\":750"), std::string::npos);
}

TEST(RunnerCommandLine, SpinningRanksNeedOneCpuEach) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);  // Child processes inherit the affinity.
  const CommandOutput spins = Invoke({"run", "tcp_latency", "wait=spin"});
  const CommandOutput sleeps = Invoke({"run", "tcp_latency", "--effort", "quick"});
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(spins.exit.code, kExitUnsupported) << spins.output;
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
  v1::RunnerCommand start =
      Start("cpu_memory_bandwidth", {kSmallStream, {{"op", "swap"}}, kSmallStream});
  start.mutable_start()->set_effort(v1::EFFORT_QUICK);
  runner.Send(start);
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
  EXPECT_EQ(second.failure().reason(), v1::REASON_INVALID_PARAMETER);
  EXPECT_EQ(runner.Next().case_result().case_index(), 12);
  EXPECT_EQ(runner.Next().finished().cases_run(), 3);
  EXPECT_EQ(runner.Wait().code, kExitDone);
}

TEST(RunnerProtocol, OutOfMemoryNamesTheSizeThatFits) {
  Rank runner("serve");
  runner.Send(Start("cpu_memory_bandwidth", {{{"bytes", "1TiB"}}}));
  EXPECT_TRUE(runner.Next().has_ready());
  const v1::CaseResult result = runner.Next().case_result();
  EXPECT_EQ(result.outcome(), v1::CASE_OUTCOME_FAILED);
  EXPECT_EQ(result.failure().reason(), v1::REASON_OUT_OF_MEMORY);
  const std::string& message = result.failure().message();
  EXPECT_NE(message.find("; three arrays of "), std::string::npos) << message;
}

// The agent closes stdin as soon as it has read Finished, while the runner is still exiting.
TEST(RunnerProtocol, EndOfStdinAfterFinishedIsNotAnError) {
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

TEST(RunnerProtocol, StopsWhenItsAgentEnds) {
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

TEST(RunnerProtocol, RankThatCannotListenBlamesItsNodeBeforeItIsReady) {
  for (const int number : {0, 1}) {
    v1::RunnerCommand start = Start("tcp_all_reduce", {{{"ranks", "2"}}});
    start.mutable_start()->set_world_size(2);
    start.mutable_start()->set_rank(number);
    // Reserved for documentation (RFC 5737).
    start.mutable_start()->set_advertise_address("192.0.2.1");
    Rank rank("serve");
    rank.Send(start);
    const v1::RunnerEvent event = rank.Next();
    EXPECT_EQ(event.aborted().failure().failure_class(), v1::FAILURE_CLASS_NODE);
    EXPECT_EQ(event.aborted().failure().reason(), v1::REASON_ADDRESS_UNUSABLE);
    EXPECT_EQ(rank.Wait().code, kExitFailed);
  }
}

}  // namespace
}  // namespace assay
