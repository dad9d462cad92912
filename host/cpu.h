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
  // The number of hardware threads that this process can keep busy: the number of usable CPUs, or
  // fewer if a control group's CPU quota is lower.
  int threads = 1;
  // Total size of the highest cache level, in bytes. Nullopt if unknown.
  std::optional<int64_t> last_level_cache_bytes;
};
const HostCpu& Cpu();

// Returns the sizes in bytes of the data caches of the first CPU that this process may use,
// starting with L1. A cache shared with other CPUs is counted in full. Returns an empty list if the
// sizes are unknown.
std::vector<int64_t> DataCacheBytes();

// Returns how many of `usable` CPUs a process can keep busy within the given CPU quotas, but at
// least one. Rounds down, because the kernel would repeatedly suspend threads that exceed a quota.
int ThreadsWithin(int usable, const std::vector<CpuQuota>& quotas);

// Returns the CPUs that this process may use, or an empty list if they are unknown. Reads the list
// only on the first call, because benchmarks later bind threads to single CPUs.
const std::vector<int>& UsableCpus();

}  // namespace assay
