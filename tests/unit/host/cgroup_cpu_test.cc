#include "host/cgroup_cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_folder.h"

namespace assay {
namespace {

using testing::IsEmpty;

// A system's files.
class CgroupCpuTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder_.path() + "/" + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::vector<double> Cpus() const {
    std::vector<double> cpus;
    for (const CpuQuota& quota : ReadCpuQuotas(folder_.path())) cpus.push_back(quota.cpus);
    return cpus;
  }
  void MountUnified() {
    Write("proc/self/mountinfo",
          "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
          "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  }

  TemporaryFolder folder_;
};

TEST_F(CgroupCpuTest, AContainersIsThatOfItsRoot) {
  MountUnified();
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_THAT(Cpus(), testing::ElementsAre(1.5));
}

TEST_F(CgroupCpuTest, GroupsAroundItLimitAsWell) {
  MountUnified();
  Write("proc/self/cgroup", "0::/jobs.slice/one.scope\n");
  Write("sys/fs/cgroup/jobs.slice/cpu.max", "400000 100000\n");
  Write("sys/fs/cgroup/jobs.slice/one.scope/cpu.max", "max 100000\n");
  EXPECT_THAT(Cpus(), testing::ElementsAre(4));
  Write("sys/fs/cgroup/jobs.slice/one.scope/cpu.max", "100000 50000\n");
  EXPECT_THAT(Cpus(), testing::ElementsAre(2, 4));
}

TEST_F(CgroupCpuTest, GroupsDifferAndTheSameOneIsTheSame) {
  MountUnified();
  Write("proc/self/cgroup", "0::/jobs.slice/one.scope\n");
  Write("sys/fs/cgroup/jobs.slice/cpu.max", "400000 100000\n");
  Write("sys/fs/cgroup/jobs.slice/one.scope/cpu.max", "400000 100000\n");
  const std::vector<CpuQuota> first = ReadCpuQuotas(folder_.path());
  Write("sys/fs/cgroup/jobs.slice/other.scope/cpu.max", "400000 100000\n");
  Write("proc/self/cgroup", "0::/jobs.slice/other.scope\n");
  const std::vector<CpuQuota> second = ReadCpuQuotas(folder_.path());
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_NE(first[0].group, second[0].group);
  EXPECT_EQ(first[1].group, second[1].group);
}

// Docker with version 1: the mount is of the container's group, whose name is the host's.
TEST_F(CgroupCpuTest, OfVersion1) {
  Write("proc/self/mountinfo",
        "40 30 0:31 /docker/2f /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
        "41 30 0:32 /docker/2f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n");
  Write("proc/self/cgroup", "5:memory:/docker/2f\n4:cpu,cpuacct:/docker/2f\n0::/docker/2f\n");
  const std::string group = "sys/fs/cgroup/cpu,cpuacct/";
  Write(group + "cpu.cfs_quota_us", "100000\n");
  Write(group + "cpu.cfs_period_us", "100000\n");
  EXPECT_THAT(Cpus(), testing::ElementsAre(1));
  Write(group + "cpu.cfs_quota_us", "-1\n");
  EXPECT_THAT(Cpus(), IsEmpty());
}

TEST_F(CgroupCpuTest, AHierarchyThatIsMountedTwiceCountsOnce) {
  MountUnified();
  std::ofstream(folder_.path() + "/proc/self/mountinfo", std::ios::app)
      << "31 22 0:26 / /mnt/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  std::filesystem::create_directories(folder_.path() + "/mnt");
  std::filesystem::create_directory_symlink(folder_.path() + "/sys/fs/cgroup",
                                            folder_.path() + "/mnt/cgroup");
  EXPECT_THAT(Cpus(), testing::ElementsAre(1));
}

TEST_F(CgroupCpuTest, WithoutControlGroupsNothingIsLimited) { EXPECT_THAT(Cpus(), IsEmpty()); }

}  // namespace
}  // namespace assay
