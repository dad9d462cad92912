// Checks that busy-waiting ranks do not compete for CPUs.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "host/cgroups.h"

namespace assay {

class Peers;

// The CPUs of one rank.
struct RankCpus {
  std::string host;  // Boot id of the kernel, which is the same in all containers of a machine.
  std::vector<int> cpus;  // CPUs that the rank may use; empty if unknown.
  std::vector<CpuQuota> quotas;
};

// Returns Unsupported(), with the ranks, if the ranks of one host have fewer CPUs than ranks, or
// those of one control group less CPU time. A busy-waiting rank would then occupy the CPU that its
// peer needs to answer, until the kernel preempts it milliseconds later.
Status RoomToSpin(const std::vector<RankCpus>& ranks);

// Checks the ranks of this gang. All of them must call this.
Status RoomToSpin(Peers& peers, Duration timeout);

}  // namespace assay
