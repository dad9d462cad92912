#include "host/cgroup_cpu.h"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "host/cgroups.h"

namespace assay {
namespace {

// What a group's folder says; absent without a limit.
std::optional<double> QuotaIn(const CgroupFolder& folder) {
  double quota = 0;
  double period = 0;
  if (folder.version_2) {
    std::ifstream limit(folder.path + "/cpu.max");  // "150000 100000", or "max 100000".
    if (!(limit >> quota >> period)) return std::nullopt;
  } else {
    std::ifstream limit(folder.path + "/cpu.cfs_quota_us");  // -1: none.
    std::ifstream each(folder.path + "/cpu.cfs_period_us");
    if (!(limit >> quota) || !(each >> period)) return std::nullopt;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// Containers call different groups by the same path; their folders are not the same.
std::optional<std::string> IdentityOf(const std::string& folder) {
  struct stat status {};
  if (stat(folder.c_str(), &status) != 0) return std::nullopt;
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

}  // namespace

std::vector<CpuQuota> ReadCpuQuotas(const std::string& root) {
  std::vector<CpuQuota> quotas;
  for (const CgroupFolder& folder : CgroupFolders("cpu", root)) {
    const auto cpus = QuotaIn(folder);
    if (!cpus) continue;
    const auto group = IdentityOf(folder.path);
    if (!group) continue;
    // A hierarchy may be mounted twice.
    if (std::none_of(quotas.begin(), quotas.end(),
                     [&](const CpuQuota& quota) { return quota.group == *group; })) {
      quotas.push_back({*group, *cpus});
    }
  }
  return quotas;
}

}  // namespace assay
