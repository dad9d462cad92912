// Tests a self-test that a benchmark, the driver or the reader of its output keeps waiting.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "common/subprocess.h"
#include "kernels/registry.h"
#include "runner/commands.h"
#include "runner/exit_codes.h"

namespace assay {
namespace {

// Gives no answer until `told` is ready. Sets `begun` when it waits.
class Waiting : public Benchmark {
 public:
  explicit Waiting(std::shared_future<void> told, std::promise<void> begun = {},
                   std::string answer = "it has waited")
      : told_(std::move(told)), begun_(std::move(begun)), answer_(std::move(answer)) {
    info_.name = "waiting";
    info_.summary = "waits";
  }
  const BenchmarkInfo& Info() const override { return info_; }
  Result<Work> WorkOf(const ParameterMap&, int) const override { return Work(); }
  Result<std::unique_ptr<Case>> Prepare(const RunContext&) const override {
    begun_.set_value();
    told_.wait();
    return Unsupported(answer_);
  }

 private:
  BenchmarkInfo info_;
  const std::shared_future<void> told_;
  mutable std::promise<void> begun_;
  const std::string answer_;
};

std::shared_future<void> Ready() {
  std::promise<void> answer;
  answer.set_value();
  return answer.get_future().share();
}

// Runs the self-test on a thread, with `fd` of this process led into a pipe of one page.
class WithPipe {
 public:
  WithPipe(int fd, const Registry& registry, const SelftestTimes& times)
      : fd_(fd), pipe_(MakePipe().value()) {
    signal(SIGPIPE, SIG_IGN);  // As assay-runner does.
    if (fcntl(pipe_.write.get(), F_SETPIPE_SZ, kPageBytes) < 0) std::abort();
    std::fflush(stdout);
    before_ = FileDescriptor(dup(fd));
    dup2(pipe_.write.get(), fd);
    code_ = std::async(std::launch::async, [&registry, times] {
      return SelftestCommand(registry, {"waiting"}, times);
    });
  }
  ~WithPipe() { dup2(before_.get(), fd_); }

  // Leaves no room in the pipe.
  void Fill() {
    fcntl(pipe_.write.get(), F_SETFL, O_NONBLOCK);
    while (write(pipe_.write.get(), "x", 1) == 1) {
    }
    fcntl(pipe_.write.get(), F_SETFL, 0);
  }
  void ReadUntil(const std::string& awaited) {
    std::string text;
    char byte = 0;
    while (text.find(awaited) == std::string::npos && read(pipe_.read.get(), &byte, 1) == 1) {
      text += byte;
    }
  }
  // -1 if the self-test does not end.
  int Code() {
    const bool ends = code_.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
    if (!ends) pipe_.read.Close();  // So that a blocked writer goes on.
    const int code = code_.get();
    return ends ? code : -1;
  }

  static constexpr int kPageBytes = 4096;

 private:
  const int fd_;
  Pipe pipe_;
  FileDescriptor before_;
  std::future<int> code_;
};

SelftestTimes Impatient() {
  SelftestTimes times;
  times.patience = std::chrono::milliseconds(1);
  return times;
}

TEST(SelftestWait, RunningBenchmarkIsNamed) {
  std::promise<void> answer;
  Registry registry;
  registry.Add(std::make_unique<Waiting>(answer.get_future().share()));
  WithPipe selftest(STDERR_FILENO, registry, Impatient());
  selftest.ReadUntil("waiting still running after ");
  answer.set_value();
  selftest.ReadUntil("\n");
  EXPECT_EQ(selftest.Code(), kExitUnsupported);
}

TEST(SelftestWait, DriverThatListsNoGpusInTimeFails) {
  Registry registry;
  registry.Add(std::make_unique<Waiting>(Ready()));
  setenv("CUDA_FAKE_HANG", "list", 1);
  SelftestTimes times = Impatient();
  times.listing_patience = std::chrono::milliseconds(100);
  WithPipe selftest(STDERR_FILENO, registry, times);
  selftest.ReadUntil("has not listed its GPUs yet");
  selftest.ReadUntil("did not list its GPUs within ");
  unsetenv("CUDA_FAKE_HANG");
  EXPECT_EQ(selftest.Code(), kExitFailed);
}

TEST(SelftestWait, SignalEndsSelftestWhoseStdoutIsNotRead) {
  std::promise<void> begun;
  std::future<void> begins = begun.get_future();
  std::promise<void> answer;
  Registry registry;
  registry.Add(std::make_unique<Waiting>(answer.get_future().share(), std::move(begun)));
  WithPipe selftest(STDOUT_FILENO, registry, {});
  begins.wait();
  selftest.Fill();
  answer.set_value();
  kill(getpid(), SIGINT);
  EXPECT_EQ(selftest.Code(), kExitSignal + SIGINT);
}

TEST(SelftestWait, SignalEndsSelftestInTheMiddleOfALine) {
  std::promise<void> begun;
  std::future<void> begins = begun.get_future();
  Registry registry;
  registry.Add(std::make_unique<Waiting>(Ready(), std::move(begun),
                                         std::string(2 * WithPipe::kPageBytes, 'x')));
  WithPipe selftest(STDOUT_FILENO, registry, {});
  begins.wait();
  selftest.ReadUntil("waiting");  // The rest of the line fills the pipe.
  kill(getpid(), SIGINT);
  EXPECT_EQ(selftest.Code(), kExitSignal + SIGINT);
}

TEST(SelftestWait, SignalEndsSelftestWhoseStderrIsNotRead) {
  // Never destroyed: the benchmark is left behind, waiting.
  static std::promise<void>& never = *new std::promise<void>();
  static Registry& registry = *new Registry();
  registry.Add(std::make_unique<Waiting>(never.get_future().share()));
  WithPipe selftest(STDERR_FILENO, registry, Impatient());
  selftest.ReadUntil("still running");
  selftest.Fill();
  kill(getpid(), SIGINT);
  EXPECT_EQ(selftest.Code(), kExitSignal + SIGINT);
}

}  // namespace
}  // namespace assay
