// Checks that busy-waiting ranks do not compete for CPUs.
#pragma once

#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status.h"
#include "host/cgroups.h"

namespace assay {

class Peers;

// The CPUs that one rank may use.
struct RankCpus {
  std::string host;  // Boot id of the kernel, which is the same in all containers of a machine.
  std::vector<int> cpus;  // CPUs that the rank may use; empty if unknown.
  std::vector<CpuQuota> quotas;
};

// Checks that every rank can busy-wait on a CPU of its own. If two ranks shared a CPU, a waiting
// rank could keep its peer from answering for milliseconds, until preempted by the kernel.
// Returns Unsupported(), naming the affected ranks, if a host has fewer usable CPUs than ranks,
// or if a control group's CPU quota is too small for its ranks.
Status RoomToSpin(const std::vector<RankCpus>& ranks);

// Checks that every rank of the running benchmark can busy-wait on a CPU of its own. All ranks
// must call this, because they exchange their CPU numbers over `peers`.
Status RoomToSpin(Peers& peers, Duration timeout);

}  // namespace assay
