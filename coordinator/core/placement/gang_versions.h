// Checks that the nodes of a gang (nodes that run one job together) have the same software and the
// same GPU model. Different drivers or NCCL versions cause hangs or misleading errors. A result
// measured on H100s and H200s together describes neither model.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"

namespace assay::coordinator {

// Returns the driver, CUDA runtime and NCCL versions of a node as one string. Nodes can run a GPU
// job together only if their strings are equal.
std::string GangVersions(const v1::NodeDescription& node);

// Compares the driver, CUDA runtime and NCCL versions of nodes. Returns an empty string if they are
// equal, and otherwise the differences: "NCCL is 2.28.9 on a, c and 2.27.3 on b". Versions that are
// unknown count as equal to each other.
std::string VersionMismatch(const std::vector<const v1::NodeDescription*>& nodes);

// Returns the models of the given GPUs of one node, sorted and without duplicates, such as "H200
// SXM" or "H100 PCIe and H200 NVL". A model name includes the form factor and the MIG profile.
std::string GangGpus(const v1::NodeDescription& node, const std::vector<int>& gpu_indices);

// Compares the models of the given GPUs on all nodes. Returns an empty string if they are equal.
// Otherwise returns the models with their nodes: "the GPU is H100 SXM on a, b and H200 SXM on c".
std::string GpuMismatch(const std::vector<const v1::NodeDescription*>& nodes,
                        const std::vector<int>& gpu_indices);

}  // namespace assay::coordinator
