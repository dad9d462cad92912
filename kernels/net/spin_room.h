// Whether ranks that spin get in each other's way.
#pragma once

#include <string>
#include <vector>

#include "host/cgroup_cpu.h"
#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"

namespace assay {

// Where a rank runs.
struct RankCpus {
  std::string host;       // The boot of its kernel, the same in all containers of a machine.
  std::vector<int> cpus;  // That it may use.
  std::vector<CpuQuota> quotas;
};

// Unsupported, naming the ranks, if those of one host have fewer CPUs than they are, or those of
// one control group less CPU time: one that asks again and again then holds the CPU that its peer's
// answer waits for, until the system takes it away some milliseconds later.
Status RoomToSpin(const std::vector<RankCpus>& ranks);

// The same of the gang, by all of its ranks.
Status RoomToSpin(Peers& peers, Duration timeout);

}  // namespace assay
