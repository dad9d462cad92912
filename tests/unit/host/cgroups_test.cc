
#include "host/cgroups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_folder.h"

namespace assay {
namespace {

using testing::IsEmpty;

// A system's files.
class CgroupQuotas : public testing::Test {
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

TEST_F(CgroupQuotas, Container_HasTheQuotaOfItsRoot) {
  MountUnified();
  Write("proc/self/cgroup", "0::/\n");
  Write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_THAT(Cpus(), testing::ElementsAre(1.5));
}

TEST_F(CgroupQuotas, AncestorsLimitToo) {
  MountUnified();
  Write("proc/self/cgroup", "0::/jobs.slice/one.scope\n");
  Write("sys/fs/cgroup/jobs.slice/cpu.max", "400000 100000\n");
  Write("sys/fs/cgroup/jobs.slice/one.scope/cpu.max", "max 100000\n");
  EXPECT_THAT(Cpus(), testing::ElementsAre(4));
  Write("sys/fs/cgroup/jobs.slice/one.scope/cpu.max", "100000 50000\n");
  EXPECT_THAT(Cpus(), testing::ElementsAre(2, 4));
}

TEST_F(CgroupQuotas, DifferentGroups_HaveDifferentIds) {
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

TEST_F(CgroupQuotas, WithoutControlGroups_ThereIsNoQuota) { EXPECT_THAT(Cpus(), IsEmpty()); }

}  // namespace
}  // namespace assay
