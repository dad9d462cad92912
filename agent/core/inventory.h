// What this node is made of, read from NVML, hwloc, /proc and /sys.
#pragma once

#include <string>

#include "assay/v1/inventory.pb.h"
#include "common/nvml.h"
#include "common/status.h"

namespace assay::agent {

// Everything but `software`, which only the runner knows. `nvml` may be null: a node
// without a GPU. Takes some milliseconds a GPU. Never fails: what cannot be read is
// absent.
v1::NodeInventory ReadInventory(const Nvml* nvml);

// One GPU as it is now.
v1::GpuInventory ReadGpu(const Nvml& nvml, int index);

// The kernel's id of this boot; empty if unreadable.
std::string ReadBootId();

// Bytes of memory that this process can still get: the least of what the host has
// free and what its control group leaves.
Result<int64_t> AvailableMemory();

}  // namespace assay::agent
