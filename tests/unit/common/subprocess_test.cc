#include "common/subprocess.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>

#include "tests/wording.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLong = 30s;

SubprocessOptions Shell(const std::string& script) {
  SubprocessOptions options;
  options.argv = {"sh", "-c", script};
  return options;
}

TEST(Subprocess, ReportsExitCodesAndSignals) {
  auto exits = Subprocess::Spawn(Shell("exit 3"));
  ASSERT_TRUE(exits.ok()) << exits.status();
  EXPECT_EQ(exits->Wait(kLong)->ToString(), "exited with status 3");
  EXPECT_EQ(exits->Wait(0s)->code, 3) << "the answer stays";
  auto dies = Subprocess::Spawn(Shell("kill -9 $$"));
  ASSERT_TRUE(dies.ok());
  EXPECT_EQ(dies->Wait(kLong)->signal, SIGKILL);
}

// A library's handler may wait for threads that never end.
TEST(Subprocess, DoesNotRunForkHandlers) {
  static int runs = 0;
  ASSERT_EQ(::pthread_atfork([] { ++runs; }, nullptr, nullptr), 0);
  auto process = Subprocess::Spawn(Shell("exit 0"));
  ASSERT_TRUE(process.ok()) << process.status();
  EXPECT_TRUE(process->Wait(kLong)->ok());
  EXPECT_EQ(runs, 0);
}

TEST(Subprocess, MissingProgram_IsNotFound) {
  SubprocessOptions missing;
  missing.argv = {"/nonexistent/assay-runner"};
  const Status status = Subprocess::Spawn(missing).status();
  EXPECT_EQ(status.reason(), Reason::kProgramNotFound);
  EXPECT_WORDING("common/missing-program", status.message());
}

TEST(Subprocess, FailureInTheChild_NamesTheStep) {
  SubprocessOptions nowhere = Shell("true");
  nowhere.argv[0] = "/bin/sh";
  nowhere.working_directory = "/nonexistent";
  const Status status = Subprocess::Spawn(nowhere).status();
  EXPECT_EQ(status.reason(), Reason::kSystemError);
  EXPECT_WORDING("common/child-step", status.message());
}

TEST(Subprocess, PassesOnlyTheNamedDescriptorsAndEnvironment) {
  auto pipe = MakePipe();
  ASSERT_TRUE(pipe.ok());
  SubprocessOptions options = Shell("echo \"$A:$HOME\" >&3; ls /proc/self/fd | wc -l >&3");
  options.environment = {{"A=1", "PATH=/usr/bin:/bin"}};
  options.descriptors[3] = pipe->write.get();
  auto process = Subprocess::Spawn(options);
  ASSERT_TRUE(process.ok()) << process.status();
  pipe->write.Close();
  std::string output;
  std::array<char, 256> chunk{};
  for (ssize_t n = 0; (n = ::read(pipe->read.get(), chunk.data(), chunk.size())) > 0;) {
    output.append(chunk.data(), static_cast<size_t>(n));
  }
  // ls sees 0, 1, 2, 3 and the directory that it reads.
  EXPECT_EQ(output, "1:\n5\n");
}

TEST(Subprocess, Stop_KillsAGroupThatIgnoresSigterm) {
  auto pipe = MakePipe();
  ASSERT_TRUE(pipe.ok());
  SubprocessOptions options =
      Shell("trap '' TERM; tail -f /dev/null & echo ready >&3; wait; tail -f /dev/null");
  options.descriptors[3] = pipe->write.get();
  auto process = Subprocess::Spawn(options);
  ASSERT_TRUE(process.ok());
  pipe->write.Close();
  std::array<char, 16> chunk{};
  ASSERT_GT(::read(pipe->read.get(), chunk.data(), chunk.size()), 0);
  EXPECT_EQ(process->Stop(50ms).signal, SIGKILL);
  // The background process held the pipe's other end; end of file proves that it died.
  EXPECT_EQ(::read(pipe->read.get(), chunk.data(), chunk.size()), 0);
}

TEST(Subprocess, Destructor_KillsTheChild) {
  pid_t pid = 0;
  {
    auto process = Subprocess::Spawn(Shell("tail -f /dev/null"));
    ASSERT_TRUE(process.ok());
    pid = process->pid();
    EXPECT_FALSE(process->Wait(0s).has_value());
  }
  EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(RunCommand, ReturnsTheEndOfTheOutput) {
  auto result = RunCommand(Shell("echo out; echo err >&2; exit 4"), kLong);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->output, "out\nerr\n");
  EXPECT_EQ(result->exit.code, 4);
  auto large = RunCommand(Shell("yes | head -c 1000000; echo end"), kLong);
  ASSERT_TRUE(large.ok());
  EXPECT_EQ(large->output.size(), size_t{64} << 10);
  EXPECT_TRUE(large->output.ends_with("end\n"));
}

TEST(RunCommand, ProgramThatTakesTooLong_IsKilled) {
  const auto result = RunCommand(Shell("tail -f /dev/null"), 20ms);
  EXPECT_EQ(result.status().code(), Code::kDeadlineExceeded);
}

}  // namespace
}  // namespace assay
