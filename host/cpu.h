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
  // The number of hardware threads that this process can keep busy. It is the number of usable
  // CPUs, or less if a control group's CPU quota is lower.
  int threads = 1;
  // Total size of the highest cache level, in bytes. Nullopt if unknown.
  std::optional<int64_t> last_level_cache_bytes;
};
const HostCpu& Cpu();

// Returns the sizes in bytes of the data caches that the first usable CPU has, from L1 on. The size
// of a cache that other CPUs share is its full size. The list is empty if the caches are unknown.
std::vector<int64_t> DataCacheBytes();

// Returns how many of `usable` CPUs a process can keep busy within the given CPU quotas, but at
// least one. Rounds down, because the kernel would repeatedly suspend threads that exceed a quota.
int ThreadsWithin(int usable, const std::vector<CpuQuota>& quotas);

// Returns the CPUs that this process may use. The list is empty if they are unknown. The system is
// asked only at the first call, because benchmarks later bind threads to single CPUs.
const std::vector<int>& UsableCpus();

}  // namespace assay
