#include "host/host_load.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_folder.h"

namespace assay {
namespace {

// A /proc made of files. CPUs 0 and 1, of which each has had `idle` idle ticks.
class FakeProc {
 public:
  const std::string& path() const { return folder_.path(); }

  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = path() + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  // Ticks of CPU 0; CPU 1 is idle.
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
  // This process, 70.
  void Self(const std::string& name, int parent, int64_t user, int64_t system,
            int64_t ended_children = 0) {
    for (const char* folder : {"self", "70"}) {
      Process(folder, 70, name, parent, user, system, ended_children);
    }
  }

 private:
  TemporaryFolder folder_;
};

TEST(HostLoad, OwnThreadsAreNotOthers) {
  FakeProc proc;
  proc.Self("assay-runner", 1, 10, 10);
  proc.Cpus(1000, 0, 1000, 0, 0);
  HostLoad load({0, 1}, proc.path());
  load.Begin();
  proc.Self("assay-runner", 1, 510, 110);  // 600 ticks, all that was used.
  proc.Cpus(1500, 0, 1100, 0, 0);
  EXPECT_EQ(load.OthersShare(), 0);
}

TEST(HostLoad, WhatOthersUseAndAHypervisorWithholdsCounts) {
  FakeProc proc;
  proc.Self("assay-runner", 1, 0, 0);
  proc.Process("99", 99, "assay of (gold) ", 1, 5, 5);  // Neither child nor parent.
  proc.Cpus(0, 0, 0, 0, 0);
  HostLoad load({0}, proc.path());
  load.Begin();
  EXPECT_EQ(load.OthersShare(), std::nullopt) << "no time has passed";
  proc.Self("assay-runner", 1, 300, 100);
  proc.Process("99", 99, "assay of (gold) ", 1, 305, 5);
  proc.Cpus(500, 100, 200, 150, 50);  // 850 used, 400 of them our own; 1000 in all.
  EXPECT_DOUBLE_EQ(load.OthersShare().value_or(-1), 0.45);
}

TEST(HostLoad, TheRanksOfAGangAreNotOthers) {
  FakeProc proc;
  // systemd - agent 60 - runners 70 (this one), 71; 80 is another's.
  proc.Process("1", 1, "systemd", 0, 0, 0);
  proc.Process("60", 60, "assay-agent", 1, 0, 0);
  proc.Self("assay-runner", 60, 0, 0);
  proc.Process("71", 71, "assay-runner", 60, 0, 0);
  proc.Process("80", 80, "python3", 1, 0, 0);
  proc.Cpus(0, 0, 0, 0, 0);
  HostLoad load({0}, proc.path());
  load.Begin();
  proc.Process("60", 60, "assay-agent", 1, 10, 0, 100);  // One of its runners has ended.
  proc.Self("assay-runner", 60, 200, 0);
  proc.Process("71", 71, "assay-runner", 60, 200, 0);
  proc.Process("72", 72, "exe", 70, 40, 0);  // Our own child, which is new.
  proc.Process("80", 80, "python3", 1, 450, 0);
  proc.Cpus(1000, 0, 0, 0, 0);
  EXPECT_DOUBLE_EQ(load.OthersShare().value_or(-1), 0.45);
}

TEST(HostLoad, InterruptsAndOtherCpusAreNobodys) {
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

TEST(HostLoad, AKernelThatDoesNotTellSaysNothing) {
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
