// Checks that the nodes of a gang (nodes that run one job together) have the same software and the
// same GPU model. Mismatched drivers or NCCL versions can cause hangs or misleading errors, and a
// result measured on a mix of H100s and H200s describes neither model.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"

namespace assay::campaign {

// Returns the driver, CUDA runtime and NCCL versions of a node as one string. Nodes can run a GPU
// job together only if their strings are equal.
std::string GangVersions(const v1::NodeDescription& node);

// Describes how the driver, CUDA runtime and NCCL versions of nodes differ, for example "NCCL is
// 2.28.9 on a, c and 2.27.3 on b". Returns an empty string if all versions are equal. Unknown
// versions are considered equal to each other.
std::string VersionMismatch(const std::vector<const v1::NodeDescription*>& nodes);

// Returns the models of the given GPUs of one node, sorted and without duplicates, for example
// "H100 PCIe and H200 NVL". Model names include the form factor and the MIG profile.
std::string GangGpus(const v1::NodeDescription& node, const std::vector<int>& gpu_indices);

// Describes how the models of the given GPUs differ between nodes, for example "the GPU is H100 SXM
// on a, b and H200 SXM on c". Returns an empty string if they are the same on all nodes.
std::string GpuMismatch(const std::vector<const v1::NodeDescription*>& nodes,
                        const std::vector<int>& gpu_indices);

}  // namespace assay::campaign
