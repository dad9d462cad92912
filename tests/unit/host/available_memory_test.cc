#include "host/available_memory.h"

#include <gtest/gtest.h>

#include <fstream>

#include "host/cgroup_memory.h"
#include "tests/temporary_folder.h"

namespace assay {
namespace {

// A machine's /proc and /sys, made of files.
class Machine {
 public:
  const std::string& root() const { return folder_.path(); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  // A group of version 2 that uses `usage`, of which `cached` is page cache.
  void Group2(const std::string& folder, const std::string& limit, int64_t usage, int64_t cached) {
    Write(folder + "/memory.max", limit + "\n");
    Write(folder + "/memory.current", std::to_string(usage) + "\n");
    Write(folder + "/memory.stat", "anon 1\ninactive_file " + std::to_string(cached) + "\n");
  }
  // The same of version 1; `around` is what groups outside allow.
  void Group1(const std::string& folder, const std::string& limit, int64_t usage, int64_t cached,
              const std::string& around) {
    Write(folder + "/memory.limit_in_bytes", limit + "\n");
    Write(folder + "/memory.usage_in_bytes", std::to_string(usage) + "\n");
    Write(folder + "/memory.stat", "inactive_file 1\nhierarchical_memory_limit " + around +
                                       "\ntotal_inactive_file " + std::to_string(cached) + "\n");
  }
  // The process's groups, and what of version 2 is mounted.
  void Process2(const std::string& own, const std::string& mounted) {
    Write("/proc/self/cgroup", "0::" + own + "\n");
    Write("/proc/self/mountinfo", "30 1 0:27 / /sys rw - sysfs sysfs rw\n42 30 0:26 " + mounted +
                                      " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
  }
  void Process1(const std::string& own, const std::string& mounted) {
    Write("/proc/self/cgroup", "12:cpu,cpuacct:/elsewhere\n4:memory:" + own + "\n0::/\n");
    Write("/proc/self/mountinfo",
          "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n35 31 0:32 " +
              mounted +
              " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
              "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  }

 private:
  TemporaryFolder folder_;
};

constexpr char kNone1[] = "9223372036854771712";  // Version 1's word for no limit.

TEST(CgroupMemory, TheLeastOfAllGroupsAroundTheProcessCounts) {
  Machine machine;
  machine.Process2("/user.slice/job.scope", "/");
  machine.Group2("/sys/fs/cgroup/user.slice/job.scope", "900", 100, 0);
  machine.Group2("/sys/fs/cgroup/user.slice", "1000", 980, 30);
  const CgroupMemory memory = ReadCgroupMemory(machine.root());
  EXPECT_EQ(memory.limit_bytes, 900);
  EXPECT_EQ(memory.left_bytes, 50) << "a neighbour has taken the rest, but for page cache";
}

TEST(CgroupMemory, AGroupWithoutALimitIsBoundByThoseAroundIt) {
  Machine machine;
  machine.Process2("/a/b/c", "/");
  machine.Group2("/sys/fs/cgroup/a/b/c", "max", 10, 0);
  machine.Group2("/sys/fs/cgroup/a/b", "max", 20, 0);
  machine.Group2("/sys/fs/cgroup/a", "700", 300, 100);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 700);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).left_bytes, 500);
}

TEST(CgroupMemory, AContainerWithANamespaceSeesItsGroupAsTheRoot) {
  Machine machine;
  machine.Process2("/", "/");
  machine.Group2("/sys/fs/cgroup", "800", 900, 0);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 800);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).left_bytes, 0);
}

TEST(CgroupMemory, AContainerWithoutANamespaceIsToldItsNameOnTheHost) {
  Machine machine;
  machine.Process2("/docker/abc/inner", "/docker/abc");
  machine.Group2("/sys/fs/cgroup", "800", 100, 0);
  machine.Group2("/sys/fs/cgroup/inner", "600", 50, 0);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 600);
  // Of a group that is not mounted, what is mounted is the nearest.
  machine.Process2("/kubepods/pod7", "/docker/abc");
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 800);
  machine.Process2("/docker/abcdef", "/docker/abc");
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 800);
}

TEST(CgroupMemory, Version1IsReadWhereMemoryIsMounted) {
  Machine machine;
  machine.Process1("/lxc/7/inner", "/");
  machine.Group1("/sys/fs/cgroup/memory", kNone1, 5000, 0, kNone1);
  machine.Group1("/sys/fs/cgroup/memory/lxc/7", "2000", 1500, 400, "2000");
  machine.Group1("/sys/fs/cgroup/memory/lxc/7/inner", kNone1, 100, 0, "2000");
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 2000);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).left_bytes, 900);
}

TEST(CgroupMemory, Version1TellsTheLimitOfGroupsThatAreNotSeen) {
  Machine machine;
  machine.Process1("/docker/abc", "/docker/abc");
  machine.Group1("/sys/fs/cgroup/memory", kNone1, 100, 0, "1200");
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 1200);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).left_bytes, 1100);
}

TEST(CgroupMemory, NoLimitAndNoKernelThatTellsAreNone) {
  Machine machine;
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, std::nullopt);
  machine.Process1("/", "/");
  machine.Group1("/sys/fs/cgroup/memory", kNone1, 100, 0, kNone1);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, std::nullopt);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).left_bytes, std::nullopt);
}

TEST(AvailableMemory, IsTheLeastOfTheHostsAndTheGroups) {
  Machine machine;
  EXPECT_EQ(AvailableHostBytes(machine.root()), std::nullopt);
  machine.Write("/proc/meminfo", "MemTotal:        4 kB\nMemAvailable:    3 kB\n");
  EXPECT_EQ(UsableHostBytes(machine.root()), 4096);
  EXPECT_EQ(AvailableHostBytes(machine.root()), 3072);
  machine.Process2("/a", "/");
  machine.Group2("/sys/fs/cgroup/a", "3500", 3000, 0);
  EXPECT_EQ(UsableHostBytes(machine.root()), 3500);
  EXPECT_EQ(AvailableHostBytes(machine.root()), 500);
  machine.Group2("/sys/fs/cgroup/a", "9000", 1000, 0);
  EXPECT_EQ(UsableHostBytes(machine.root()), 4096);
  EXPECT_EQ(AvailableHostBytes(machine.root()), 3072);
}

}  // namespace
}  // namespace assay
