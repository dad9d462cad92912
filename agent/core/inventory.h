// Reads this node's hardware from NVML, hwloc, /proc and /sys.
#pragma once

#include <string>

#include "assay/v1/inventory.pb.h"
#include "host/nvml.h"

namespace assay::agent {

// Lists the node's hardware and driver. `nvml` may be null on a node without GPUs. Takes a few
// milliseconds per GPU. Never fails: anything that cannot be read is omitted. Leaves the field
// `software` unset, because only the runner program knows the software versions.
v1::NodeInventory ReadInventory(const Nvml* nvml);

// Reads the present state of one GPU.
v1::GpuInventory ReadGpu(const Nvml& nvml, int index);

// Returns the kernel's id of this boot; empty if it cannot be read.
std::string ReadBootId();

}  // namespace assay::agent
