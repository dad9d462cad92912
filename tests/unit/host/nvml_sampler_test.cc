#include "host/nvml_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/mutex.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A GPU whose list of processes a test changes, and which tells how often it was read.
class FakeGpu {
 public:
  NvmlSource Source() {
    return {[] { return NvmlSample(); },
            [this]() -> std::optional<std::vector<NvmlProcess>> {
              MutexLock lock(mutex_);
              ++reads_;
              read_.NotifyAll();
              return std::vector<NvmlProcess>(processes_);
            }};
  }

  // Returns how often the list was read before.
  int SetProcesses(size_t processes) {
    MutexLock lock(mutex_);
    processes_ = processes;
    return reads_;
  }

  // False if the list was not read more than `reads` times within a minute.
  bool AwaitMoreReadsThan(int reads) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    MutexLock lock(mutex_);
    while (reads_ <= reads) {
      if (!read_.WaitUntil(mutex_, deadline)) return false;
    }
    return true;
  }

 private:
  Mutex mutex_;
  CondVar read_;
  int reads_ ASSAY_GUARDED_BY(mutex_) = 0;
  size_t processes_ ASSAY_GUARDED_BY(mutex_) = 1;
};

constexpr auto kNever = std::chrono::hours(1);

TEST(NvmlSampler, AloneIsNotShared) {
  FakeGpu gpu;
  NvmlSampler sampler(gpu.Source());
  sampler.Start();
  const WindowConditions conditions = sampler.Stop();
  EXPECT_EQ(conditions.other_gpu_processes, 0);
  EXPECT_THAT(conditions.flags, IsEmpty());
}

TEST(NvmlSampler, AProcessThatArrivesInTheWindowIsSeenAtItsEnd) {
  FakeGpu gpu;
  NvmlSampler sampler(gpu.Source(), kNever);
  sampler.Start();
  ASSERT_TRUE(gpu.AwaitMoreReadsThan(0));
  gpu.SetProcesses(3);
  const WindowConditions conditions = sampler.Stop();
  EXPECT_EQ(conditions.other_gpu_processes, 2);
  EXPECT_THAT(conditions.flags, ElementsAre("shared_gpu"));
}

TEST(NvmlSampler, AProcessThatComesAndGoesIsSeenBetween) {
  FakeGpu gpu;
  NvmlSampler sampler(gpu.Source(), std::chrono::milliseconds(0));
  sampler.Start();
  ASSERT_TRUE(gpu.AwaitMoreReadsThan(0));
  ASSERT_TRUE(gpu.AwaitMoreReadsThan(gpu.SetProcesses(2)));
  gpu.SetProcesses(1);
  const WindowConditions conditions = sampler.Stop();
  EXPECT_EQ(conditions.other_gpu_processes, 1);
  EXPECT_THAT(conditions.flags, ElementsAre("shared_gpu"));
}

TEST(NvmlSampler, AListThatCannotBeReadSaysNothing) {
  NvmlSource source;
  source.sample = [] { return NvmlSample(); };
  source.processes = [] { return std::nullopt; };
  NvmlSampler sampler(source);
  sampler.Start();
  EXPECT_EQ(sampler.Stop().other_gpu_processes, std::nullopt);
}

}  // namespace
}  // namespace assay
