// Tests what a self-test prints while it waits for a benchmark or the driver.
#include <gtest/gtest.h>
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

// A benchmark that waits until `told` is ready, and is then unsupported.
class Waiting : public Benchmark {
 public:
  explicit Waiting(std::future<void> told) : told_(told.share()) {
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

// Runs the self-test of Waiting on a thread, with stderr redirected to a pipe.
class WaitingSelftest {
 public:
  explicit WaitingSelftest(Duration listing_patience) : pipe_(MakePipe().value()) {
    registry_.Add(std::make_unique<Waiting>(answer_.get_future()));
    std::fflush(stderr);
    before_ = FileDescriptor(dup(STDERR_FILENO));
    dup2(pipe_.write.get(), STDERR_FILENO);
    const SelftestTimes times = {std::chrono::milliseconds(1), listing_patience};
    code_ = std::async(std::launch::async,
                       [this, times] { return SelftestCommand(registry_, {"waiting"}, times); });
  }
  ~WaitingSelftest() { dup2(before_.get(), STDERR_FILENO); }

  void ReadUntil(const std::string& awaited) {
    std::string text;
    char byte = 0;
    while (text.find(awaited) == std::string::npos && read(pipe_.read.get(), &byte, 1) == 1) {
      text += byte;
    }
  }
  // Ends the benchmark's wait.
  void Answer() { answer_.set_value(); }
  int Code() { return code_.get(); }

 private:
  Registry registry_;
  std::promise<void> answer_;
  Pipe pipe_;
  FileDescriptor before_;
  std::future<int> code_;
};

TEST(SelftestWait, RunningBenchmark_IsNamed) {
  WaitingSelftest selftest(std::chrono::minutes(1));
  selftest.ReadUntil("waiting still running after ");
  selftest.Answer();
  EXPECT_EQ(selftest.Code(), kExitUnsupported);
}

TEST(SelftestWait, DriverThatDoesNotListItsGpusInTime_Fails) {
  setenv("CUDA_FAKE_HANG", "list", 1);
  WaitingSelftest selftest(std::chrono::milliseconds(100));
  selftest.ReadUntil("has not listed its GPUs yet");
  selftest.ReadUntil("did not list its GPUs within ");
  EXPECT_EQ(selftest.Code(), kExitFailed);
  unsetenv("CUDA_FAKE_HANG");
}

}  // namespace
}  // namespace assay
