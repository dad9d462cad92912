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

// Checks that every rank can busy-wait on a CPU of its own. Otherwise a waiting rank could occupy
// the CPU that its peer needs to answer, until the kernel preempts it milliseconds later. Returns
// Unsupported(), naming the ranks, if the ranks of a host have too few CPUs or those of a control
// group too small a CPU quota.
Status RoomToSpin(const std::vector<RankCpus>& ranks);

// Checks the ranks of this gang. All of them must call this.
Status RoomToSpin(Peers& peers, Duration timeout);

}  // namespace assay
