// What a self-test tells while a benchmark gives no answer.
#include <gtest/gtest.h>
#include <unistd.h>

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
  explicit Waiting(std::shared_future<void> told) : told_(std::move(told)) {
    info_.name = "waiting";
    info_.summary = "waits";
  }
  const BenchmarkInfo& Info() const override { return info_; }
  Result<Work> WorkOf(const ParameterMap&, int) const override { return Work(); }
  Result<std::unique_ptr<Case>> Prepare(const RunContext&) const override {
    told_.wait();
    return Unsupported("it has waited");
  }

 private:
  BenchmarkInfo info_;
  const std::shared_future<void> told_;
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

}  // namespace
}  // namespace assay
