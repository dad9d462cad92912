// What a self-test tells while a benchmark gives no answer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <string>

#include "common/subprocess.h"
#include "kernels/registry.h"
#include "kernels/runner/exit_codes.h"
#include "kernels/runner/selftest.h"

namespace assay {
namespace {

// Gives no answer until it is told to.
class Waiting : public Benchmark {
 public:
  // `begun` is told when it waits.
  explicit Waiting(std::shared_future<void> told, std::promise<void> begun = {})
      : told_(std::move(told)), begun_(std::move(begun)) {
    info_.name = "waiting";
    info_.summary = "waits";
  }
  const BenchmarkInfo& Info() const override { return info_; }
  Result<Work> WorkOf(const ParameterMap&, int) const override { return Work(); }
  Result<std::unique_ptr<Case>> Prepare(const RunContext&) const override {
    begun_.set_value();
    told_.wait();
    return Unsupported("it has waited");
  }

 private:
  BenchmarkInfo info_;
  const std::shared_future<void> told_;
  mutable std::promise<void> begun_;
};

TEST(SelftestWait, TheBenchmarkThatIsWaitedForIsNamed) {
  std::promise<void> answer;
  Registry registry;
  registry.Add(std::make_unique<Waiting>(answer.get_future().share()));
  auto pipe = MakePipe();
  ASSERT_TRUE(pipe.ok());
  const FileDescriptor standard_error(dup(STDERR_FILENO));
  ASSERT_GE(dup2(pipe->write.get(), STDERR_FILENO), 0);
  auto code = std::async(std::launch::async, [&] {
    return SelftestCommand(registry, {"waiting"}, std::chrono::milliseconds(1));
  });
  std::string told;
  char byte = 0;
  while (told.find("no answer yet from waiting for ") == std::string::npos &&
         read(pipe->read.get(), &byte, 1) == 1) {
    told += byte;
  }
  ASSERT_GE(dup2(standard_error.get(), STDERR_FILENO), 0);
  answer.set_value();
  EXPECT_EQ(code.get(), kExitUnsupported);
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

}  // namespace
}  // namespace assay
