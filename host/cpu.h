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
  // The number of hardware threads that this process can keep busy. This is the number of
  // UsableCpus(), or less if a control group limits the process's CPU time.
  int threads = 1;
  // Total size of the highest cache level, in bytes. Absent if unknown.
  std::optional<int64_t> last_level_cache_bytes;
};
const HostCpu& Cpu();

// Returns how many of `usable` CPUs a process can keep busy within the CPU quotas, but at least
// one. Rounds down: if threads share one CPU's worth of quota, the kernel stops them again and
// again.
int ThreadsWithin(int usable, const std::vector<CpuQuota>& quotas);

// Returns the CPUs that this process may use, or nothing if unknown. The list is read once, at the
// first call, because benchmarks later bind threads to single CPUs.
const std::vector<int>& UsableCpus();

}  // namespace assay
