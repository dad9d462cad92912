// The CPUs of this machine, from /proc and /sys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/cgroups.h"

namespace assay {

struct HostCpu {
  std::string model;  // "AMD EPYC 9654"; empty if unknown.
  // Number of hardware threads that this process can keep busy: those of UsableCpus(), or fewer if
  // a control group limits its CPU time.
  int threads = 1;
  // Total size of the highest cache level, in bytes. Absent if unknown.
  std::optional<int64_t> last_level_cache_bytes;
};
const HostCpu& Cpu();

// Returns how many of `usable` CPUs the quotas leave, at least one. Rounds down, because threads
// that share a CPU's quota are stopped again and again.
int ThreadsWithin(int usable, const std::vector<CpuQuota>& quotas);

// Returns the CPUs that this process could use when this was first called, before a case bound
// threads to some of them. Empty if unknown.
const std::vector<int>& UsableCpus();

}  // namespace assay
