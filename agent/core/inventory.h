// Reads this node's hardware from NVML, hwloc, /proc and /sys.
#pragma once

#include <string>

#include "assay/v1/inventory.pb.h"
#include "host/nvml.h"

namespace assay::agent {

// Everything but `software`, which only the runner knows. `nvml` may be null: a node
// without a GPU. Takes some milliseconds a GPU. Never fails: what cannot be read is
// absent.
v1::NodeInventory ReadInventory(const Nvml* nvml);

// One GPU as it is now.
v1::GpuInventory ReadGpu(const Nvml& nvml, int index);

// The kernel's id of this boot; empty if unreadable.
std::string ReadBootId();

}  // namespace assay::agent
