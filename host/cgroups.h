// Reads the CPU and memory limits that Linux control groups (cgroups) impose on this process.
// Supports only cgroup version 2. With version 1, all limits are reported as unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// The CPU quota of a Linux control group, such as a container started with `--cpus`. All processes
// in the group share the quota.
struct CpuQuota {
  std::string group;  // Identifies the group on this machine; has no spaces.
  double cpus = 0;    // Seconds of CPU time per second.
};

// Returns the CPU quotas of this process's control group and of its ancestors, all of which limit
// the process. Omits ancestors that this process cannot see, as in a container. `root`, which only
// tests set, is prepended to every path.
std::vector<CpuQuota> ReadCpuQuotas(const std::string& root = "");

// The tightest memory limits on this process, set by its own control group or a visible ancestor. A
// field is nullopt if there is no limit or the limit is unknown.
struct CgroupMemory {
  std::optional<int64_t> limit_bytes;
  // Unused part of a limit. The page cache counts as unused.
  std::optional<int64_t> left_bytes;
};
CgroupMemory ReadCgroupMemory(const std::string& root = "");

}  // namespace assay
