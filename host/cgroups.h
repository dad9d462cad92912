// Limits of the control groups (cgroup version 2) of this process. With version 1 every limit is
// unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// The CPU quota of one group, such as of a container started with `--cpus`. All processes of the
// group share it.
struct CpuQuota {
  std::string group;  // Identifies the group on this machine; has no spaces.
  double cpus = 0;    // Seconds of CPU time per second.
};

// Returns the quotas of the process's own group and of its visible ancestors. Empty if there are
// none. `root` replaces "/", here and below.
std::vector<CpuQuota> ReadCpuQuotas(const std::string& root = "");

// The tightest memory limits of the process's own group and its visible ancestors. Absent: no
// limit, or unknown.
struct CgroupMemory {
  std::optional<int64_t> limit_bytes;
  // Unused part of a limit. The page cache counts as unused.
  std::optional<int64_t> left_bytes;
};
CgroupMemory ReadCgroupMemory(const std::string& root = "");

}  // namespace assay
