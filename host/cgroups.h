// Reads the CPU and memory limits that control groups (cgroups) set for this process. Supports
// cgroup version 2; with version 1, all limits are unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// The CPU quota of a control group, for example of a container started with `--cpus`. All processes
// of the group share it.
struct CpuQuota {
  std::string group;  // Identifies the group on this machine; has no spaces.
  double cpus = 0;    // Seconds of CPU time per second.
};

// Returns the CPU quotas that apply to this process: those of its own control group and of the
// group's ancestors, as far as they are visible. Empty if there are none. `root` replaces "/" in
// paths, here and below.
std::vector<CpuQuota> ReadCpuQuotas(const std::string& root = "");

// The tightest memory limits that the control groups of this process set: its own group and its
// visible ancestors. A field is absent if there is no limit or it is unknown.
struct CgroupMemory {
  std::optional<int64_t> limit_bytes;
  // Unused part of a limit. The page cache counts as unused.
  std::optional<int64_t> left_bytes;
};
CgroupMemory ReadCgroupMemory(const std::string& root = "");

}  // namespace assay
