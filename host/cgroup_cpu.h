// What the control groups of this process let it take of the host's CPU time.
#pragma once

#include <string>
#include <vector>

namespace assay {

// The quota of one group, as of a container that was started with `--cpus`: all processes in it
// share it.
struct CpuQuota {
  std::string group;  // Without spaces; the same for all of the machine that share the quota.
  double cpus = 0;    // Seconds of CPU time that a second grants.
};

// Of the process's own group and of all groups around it that it sees. Empty where no group has a
// limit, or the kernel does not tell. Of versions 1 and 2; `root` as of CgroupFolders.
std::vector<CpuQuota> ReadCpuQuotas(const std::string& root = "");

}  // namespace assay
