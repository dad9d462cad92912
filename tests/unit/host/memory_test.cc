
#include "host/memory.h"

#include <gtest/gtest.h>

#include <fstream>

#include "host/cgroups.h"
#include "tests/temporary_folder.h"

namespace assay {
namespace {

// A machine's /proc and /sys.
class Machine {
 public:
  const std::string& root() const { return folder_.path(); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  // Adds a group that uses `usage` bytes, of which `cached` are page cache.
  void Group(const std::string& folder, const std::string& limit, int64_t usage, int64_t cached) {
    Write(folder + "/memory.max", limit + "\n");
    Write(folder + "/memory.current", std::to_string(usage) + "\n");
    Write(folder + "/memory.stat", "anon 1\ninactive_file " + std::to_string(cached) + "\n");
  }
  // Sets the process's group and the group that is mounted.
  void Process(const std::string& own, const std::string& mounted) {
    Write("/proc/self/cgroup", "0::" + own + "\n");
    Write("/proc/self/mountinfo", "30 1 0:27 / /sys rw - sysfs sysfs rw\n42 30 0:26 " + mounted +
                                      " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
  }

 private:
  TemporaryFolder folder_;
};

TEST(CgroupMemory, TightestLimitOfTheGroupsApplies) {
  Machine machine;
  machine.Process("/user.slice/job.scope", "/");
  machine.Group("/sys/fs/cgroup/user.slice/job.scope", "900", 100, 0);
  machine.Group("/sys/fs/cgroup/user.slice", "1000", 980, 30);
  const CgroupMemory memory = ReadCgroupMemory(machine.root());
  EXPECT_EQ(memory.limit_bytes, 900);
  EXPECT_EQ(memory.left_bytes, 50) << "the ancestor's limit, less what is used, plus page cache";
}

TEST(CgroupMemory, GroupWithoutLimit_HasItsAncestorsLimit) {
  Machine machine;
  machine.Process("/a/b/c", "/");
  machine.Group("/sys/fs/cgroup/a/b/c", "max", 10, 0);
  machine.Group("/sys/fs/cgroup/a/b", "max", 20, 0);
  machine.Group("/sys/fs/cgroup/a", "700", 300, 100);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 700);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).left_bytes, 500);
}

TEST(CgroupMemory, ContainerWithNamespace_SeesItsGroupAsRoot) {
  Machine machine;
  machine.Process("/", "/");
  machine.Group("/sys/fs/cgroup", "800", 900, 0);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 800);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).left_bytes, 0);
}

TEST(CgroupMemory, ContainerWithoutNamespace_SeesItsPathOnTheHost) {
  Machine machine;
  machine.Process("/docker/abc/inner", "/docker/abc");
  machine.Group("/sys/fs/cgroup", "800", 100, 0);
  machine.Group("/sys/fs/cgroup/inner", "600", 50, 0);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 600);
  // The group is not mounted; the mounted one is used instead.
  machine.Process("/kubepods/pod7", "/docker/abc");
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 800);
  machine.Process("/docker/abcdef", "/docker/abc");
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, 800);
}

TEST(CgroupMemory, NoLimit_IsAbsent) {
  Machine machine;
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, std::nullopt);
  machine.Process("/a", "/");
  machine.Group("/sys/fs/cgroup/a", "max", 100, 0);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, std::nullopt);
  EXPECT_EQ(ReadCgroupMemory(machine.root()).left_bytes, std::nullopt);
}

// Version 1 with an empty hierarchy of version 2, as systemd's hybrid mode mounts it.
TEST(CgroupMemory, Version1_IsUnknown) {
  Machine machine;
  machine.Write("/proc/self/cgroup", "4:memory:/docker/abc\n0::/\n");
  machine.Write("/proc/self/mountinfo",
                "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  machine.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1200\n");
  EXPECT_EQ(ReadCgroupMemory(machine.root()).limit_bytes, std::nullopt);
}

TEST(AvailableHostBytes, IsTheLesserOfHostAndGroups) {
  Machine machine;
  EXPECT_EQ(AvailableHostBytes(machine.root()), std::nullopt);
  machine.Write("/proc/meminfo", "MemTotal:        4 kB\nMemAvailable:    3 kB\n");
  EXPECT_EQ(UsableHostBytes(machine.root()), 4096);
  EXPECT_EQ(AvailableHostBytes(machine.root()), 3072);
  machine.Process("/a", "/");
  machine.Group("/sys/fs/cgroup/a", "3500", 3000, 0);
  EXPECT_EQ(UsableHostBytes(machine.root()), 3500);
  EXPECT_EQ(AvailableHostBytes(machine.root()), 500);
  machine.Group("/sys/fs/cgroup/a", "9000", 1000, 0);
  EXPECT_EQ(UsableHostBytes(machine.root()), 4096);
  EXPECT_EQ(AvailableHostBytes(machine.root()), 3072);
}

}  // namespace
}  // namespace assay
