// The CPUs that this process may use.
#pragma once

#include "assay/v1/inventory.pb.h"

namespace assay::agent {

// Sockets, cores and caches from hwloc, counting only what the process' affinity and
// control group allow. Never fails: what cannot be read is empty or absent.
v1::CpuInventory ReadCpu();

}  // namespace assay::agent
