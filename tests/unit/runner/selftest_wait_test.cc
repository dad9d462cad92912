// What a self-test tells while a benchmark gives no answer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "common/subprocess.h"
#include "kernels/registry.h"
#include "runner/exit_codes.h"
#include "runner/selftest.h"

namespace assay {
namespace {

// Gives no answer until it is told to.
class Waiting : public Benchmark {
 public:
  // `begun` is told when it waits.
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

// What a self-test says on stderr until it has said `awaited`.
std::string ToldUntil(const std::string& awaited, const Registry& registry,
                      Duration listing_patience, std::future<int>* code) {
  auto pipe = MakePipe();
  if (!pipe.ok()) std::abort();
  const FileDescriptor standard_error(dup(STDERR_FILENO));
  dup2(pipe->write.get(), STDERR_FILENO);
  *code = std::async(std::launch::async, [&registry, listing_patience] {
    return SelftestCommand(registry, {"waiting"}, std::chrono::milliseconds(1), listing_patience);
  });
  std::string told;
  char byte = 0;
  while (told.find(awaited) == std::string::npos && read(pipe->read.get(), &byte, 1) == 1) {
    told += byte;
  }
  dup2(standard_error.get(), STDERR_FILENO);
  return told;
}

TEST(SelftestWait, TheBenchmarkThatIsWaitedForIsNamed) {
  std::promise<void> answer;
  Registry registry;
  registry.Add(std::make_unique<Waiting>(answer.get_future().share()));
  std::future<int> code;
  ToldUntil("no answer yet from waiting for ", registry, kListingPatience, &code);
  answer.set_value();
  EXPECT_EQ(code.get(), kExitUnsupported);
}

TEST(SelftestWait, ADriverThatDoesNotListItsGpusFailsIt) {
  std::promise<void> answer;
  answer.set_value();
  Registry registry;
  registry.Add(std::make_unique<Waiting>(answer.get_future().share()));
  setenv("CUDA_FAKE_HANG", "list", 1);
  std::future<int> code;
  const std::string told = ToldUntil("Xid in dmesg", registry, std::chrono::seconds(1), &code);
  unsetenv("CUDA_FAKE_HANG");
  EXPECT_EQ(code.get(), kExitFailed);
  EXPECT_NE(told.find("assay-runner: no answer yet from the driver"), std::string::npos);
  EXPECT_NE(told.find("assay-runner: for 1 s the driver has not said which GPUs it has: see "
                      "whether `nvidia-smi` answers"),
            std::string::npos);
}

// A pipe that takes no more.
Pipe FullPipe() {
  auto pipe = MakePipe();
  if (!pipe.ok()) std::abort();
  fcntl(pipe->write.get(), F_SETFL, O_NONBLOCK);
  const std::string page(4096, 'x');
  while (write(pipe->write.get(), page.data(), page.size()) > 0) {
  }
  fcntl(pipe->write.get(), F_SETFL, 0);
  return *std::move(pipe);
}

TEST(SelftestWait, ASignalEndsOneWhoseStdoutNobodyReads) {
  signal(SIGPIPE, SIG_IGN);  // As assay-runner does.
  std::promise<void> answer;
  answer.set_value();
  std::promise<void> begun;
  std::future<void> begins = begun.get_future();
  Registry registry;
  registry.Add(std::make_unique<Waiting>(answer.get_future().share(), std::move(begun)));
  Pipe full = FullPipe();
  std::fflush(stdout);
  const FileDescriptor standard_output(dup(STDOUT_FILENO));
  dup2(full.write.get(), STDOUT_FILENO);
  full.write.Close();
  auto code =
      std::async(std::launch::async, [&] { return SelftestCommand(registry, {"waiting"}); });
  begins.wait();
  kill(getpid(), SIGINT);
  const bool ended = code.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  dup2(standard_output.get(), STDOUT_FILENO);
  full.read.Close();  // Whoever waits to write goes on.
  EXPECT_TRUE(ended);
  EXPECT_EQ(code.get(), kExitSignal + SIGINT);
}

constexpr int kPipeBytes = 4096;

// Of a self-test that gets SIGINT once `fd`, of which nobody reads, is a pipe with `bytes` in it;
// -1 if it does not end.
int CodeOfUnread(int fd, int bytes, const Registry& registry) {
  signal(SIGPIPE, SIG_IGN);  // As assay-runner does.
  auto pipe = MakePipe();
  if (!pipe.ok() || fcntl(pipe->write.get(), F_SETPIPE_SZ, kPipeBytes) < 0) std::abort();
  std::fflush(stdout);
  const FileDescriptor before(dup(fd));
  dup2(pipe->write.get(), fd);
  pipe->write.Close();
  auto code = std::async(std::launch::async, [&] {
    return SelftestCommand(registry, {"waiting"}, std::chrono::milliseconds(1));
  });
  const auto ends_within = [&](Duration time) {
    return code.wait_for(time) == std::future_status::ready;
  };
  for (int unread = 0; unread < bytes && !ends_within(Duration(0)); std::this_thread::yield()) {
    if (ioctl(pipe->read.get(), FIONREAD, &unread) != 0) std::abort();
  }
  EXPECT_FALSE(ends_within(std::chrono::milliseconds(50)));  // It waits in write(2) by then.
  kill(getpid(), SIGINT);
  const bool ended = ends_within(std::chrono::seconds(30));
  dup2(before.get(), fd);
  pipe->read.Close();  // Whoever waits to write goes on.
  const int number = code.get();
  return ended ? number : -1;
}

TEST(SelftestWait, ASignalEndsOneInTheMiddleOfALine) {
  std::promise<void> answer;
  answer.set_value();
  Registry registry;
  registry.Add(std::make_unique<Waiting>(answer.get_future().share(), std::promise<void>(),
                                         std::string(2 * kPipeBytes, 'x')));
  EXPECT_EQ(CodeOfUnread(STDOUT_FILENO, 1, registry), kExitSignal + SIGINT);
  std::clearerr(stdout);
}

TEST(SelftestWait, ASignalEndsOneWhoseStderrNobodyReads) {
  // Never destroyed: the benchmark is left behind, waiting.
  static std::promise<void>& never = *new std::promise<void>();
  static Registry& registry = *new Registry();
  registry.Add(std::make_unique<Waiting>(never.get_future().share()));
  constexpr int kMessageBytes = sizeof "assay-runner: no answer yet from waiting for 0 s\n" - 1;
  EXPECT_EQ(CodeOfUnread(STDERR_FILENO, kPipeBytes - kMessageBytes + 1, registry),
            kExitSignal + SIGINT);
  std::clearerr(stderr);
}

}  // namespace
}  // namespace assay
