#include "host/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "common/mutex.h"
#include "tests/temporary_folder.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A GPU whose list of processes a test can change. Counts how often the list was read.
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

  // Returns how often the list was read before the change.
  int SetProcesses(size_t processes) {
    MutexLock lock(mutex_);
    processes_ = processes;
    return reads_;
  }

  // Waits until the list was read more than `reads` times. False after a minute.
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

TEST(NvmlSampler, SingleProcess_IsNotShared) {
  FakeGpu gpu;
  const auto sampler = NewNvmlSampler(gpu.Source());
  sampler->Start();
  const WindowConditions conditions = sampler->Stop();
  EXPECT_EQ(conditions.other_gpu_processes, 0);
  EXPECT_THAT(conditions.flags, IsEmpty());
}

TEST(NvmlSampler, ProcessThatArrivesInTheWindow_IsCountedAtItsEnd) {
  FakeGpu gpu;
  const auto sampler = NewNvmlSampler(gpu.Source(), kNever);
  sampler->Start();
  ASSERT_TRUE(gpu.AwaitMoreReadsThan(0));
  gpu.SetProcesses(3);
  const WindowConditions conditions = sampler->Stop();
  EXPECT_EQ(conditions.other_gpu_processes, 2);
  EXPECT_THAT(conditions.flags, ElementsAre("shared_gpu"));
}

TEST(NvmlSampler, ProcessThatComesAndGoes_IsCounted) {
  FakeGpu gpu;
  const auto sampler = NewNvmlSampler(gpu.Source(), std::chrono::milliseconds(0));
  sampler->Start();
  ASSERT_TRUE(gpu.AwaitMoreReadsThan(0));
  ASSERT_TRUE(gpu.AwaitMoreReadsThan(gpu.SetProcesses(2)));
  gpu.SetProcesses(1);
  const WindowConditions conditions = sampler->Stop();
  EXPECT_EQ(conditions.other_gpu_processes, 1);
  EXPECT_THAT(conditions.flags, ElementsAre("shared_gpu"));
}

TEST(NvmlSampler, UnreadableList_GivesNoCount) {
  NvmlSource source;
  source.sample = [] { return NvmlSample(); };
  source.processes = [] { return std::nullopt; };
  const auto sampler = NewNvmlSampler(source);
  sampler->Start();
  EXPECT_EQ(sampler->Stop().other_gpu_processes, std::nullopt);
}

// A /proc made of files, for a machine with CPUs 0, 1 and 2.
class FakeProc {
 public:
  const std::string& path() const { return folder_.path(); }

  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = path() + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  // Sets the ticks of CPUs 0 and 2. CPU 1 is idle.
  void Cpus(int64_t user, int64_t nice, int64_t system, int64_t softirq, int64_t steal) {
    const std::string busy = std::to_string(user) + " " + std::to_string(nice) + " " +
                             std::to_string(system) + " 100 50 0 " + std::to_string(softirq) + " " +
                             std::to_string(steal) + " 0 0\n";
    Write("stat", "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 " + busy + "cpu1 0 0 0 1000 0 0 0 0 0 0\ncpu2 " +
                      busy + "intr 77 1 2\n");
  }
  void Process(const std::string& folder, int pid, const std::string& name, int parent,
               int64_t user, int64_t system, int64_t ended_children = 0) {
    Write(folder + "/stat", std::to_string(pid) + " (" + name + ") S " + std::to_string(parent) +
                                " 1 1 0 -1 4194304 10 0 0 0 " + std::to_string(user) + " " +
                                std::to_string(system) + " " + std::to_string(ended_children) +
                                " 0 20 0 1 0\n");
  }
  // Sets this process, which has the id 70.
  void Self(const std::string& name, int parent, int64_t user, int64_t system,
            int64_t ended_children = 0) {
    for (const char* folder : {"self", "70"}) {
      Process(folder, 70, name, parent, user, system, ended_children);
    }
  }

 private:
  TemporaryFolder folder_;
};

TEST(HostLoad, OwnThreads_AreNotOthers) {
  FakeProc proc;
  proc.Self("assay-runner", 1, 10, 10);
  proc.Cpus(1000, 0, 1000, 0, 0);
  HostLoad load({0, 1}, proc.path());
  load.Begin();
  proc.Self("assay-runner", 1, 510, 110);  // 600 ticks, all that was used.
  proc.Cpus(1500, 0, 1100, 0, 0);
  EXPECT_EQ(load.OthersShare(), 0);
}

TEST(HostLoad, TimeOfOthersAndOfTheHypervisor_Counts) {
  FakeProc proc;
  proc.Self("assay-runner", 1, 0, 0);
  proc.Process("99", 99, "assay of (gold) ", 1, 5, 5);  // Unrelated in spite of its name.
  proc.Cpus(0, 0, 0, 0, 0);
  HostLoad load({0}, proc.path());
  load.Begin();
  EXPECT_EQ(load.OthersShare(), std::nullopt) << "no time has passed";
  proc.Self("assay-runner", 1, 300, 100);
  proc.Process("99", 99, "assay of (gold) ", 1, 305, 5);
  proc.Cpus(500, 100, 200, 150, 50);  // 850 used, 400 of them our own; 1000 in all.
  EXPECT_DOUBLE_EQ(load.OthersShare().value_or(-1), 0.45);
}

TEST(HostLoad, RanksOfTheSameAgent_AreNotOthers) {
  FakeProc proc;
  // systemd (1) started agent 60, which started runners 70 (this one) and 71. 80 is unrelated.
  proc.Process("1", 1, "systemd", 0, 0, 0);
  proc.Process("60", 60, "assay-agent", 1, 0, 0);
  proc.Self("assay-runner", 60, 0, 0);
  proc.Process("71", 71, "assay-runner", 60, 0, 0);
  proc.Process("80", 80, "python3", 1, 0, 0);
  proc.Cpus(0, 0, 0, 0, 0);
  HostLoad load({0}, proc.path());
  load.Begin();
  proc.Process("60", 60, "assay-agent", 1, 10, 0, 100);  // One of its runners ended.
  proc.Self("assay-runner", 60, 200, 0);
  proc.Process("71", 71, "assay-runner", 60, 200, 0);
  proc.Process("72", 72, "exe", 70, 40, 0);  // A new child of this process.
  proc.Process("80", 80, "python3", 1, 450, 0);
  proc.Cpus(1000, 0, 0, 0, 0);
  EXPECT_DOUBLE_EQ(load.OthersShare().value_or(-1), 0.45);
}

TEST(HostLoad, InterruptsAndOtherCpus_AreIgnored) {
  FakeProc proc;
  proc.Self("assay-runner", 1, 0, 0);
  proc.Cpus(0, 0, 0, 0, 0);
  HostLoad load({0}, proc.path());
  load.Begin();
  proc.Cpus(0, 0, 0, 900, 0);
  EXPECT_EQ(load.OthersShare(), 0);
  HostLoad idle({1}, proc.path());
  idle.Begin();
  proc.Cpus(500, 0, 0, 900, 0);
  EXPECT_EQ(idle.OthersShare(), std::nullopt);
}

TEST(HostLoad, WithoutKernelStatistics_TheShareIsUnknown) {
  FakeProc proc;
  HostLoad load({0}, proc.path());
  load.Begin();
  EXPECT_EQ(load.OthersShare(), std::nullopt);
  proc.Cpus(0, 0, 0, 0, 0);
  HostLoad unknown_cpu({0, 7}, proc.path());
  unknown_cpu.Begin();
  EXPECT_EQ(unknown_cpu.OthersShare(), std::nullopt);
}

}  // namespace
}  // namespace assay
