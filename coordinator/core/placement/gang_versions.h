// Checks that a gang's nodes have equal software and equal GPUs. Different drivers or NCCL versions
// hang or fail with misleading errors, and a result of H100s and H200s together describes neither.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"

namespace assay::coordinator {

// Returns the versions that must be equal on all nodes of a GPU gang as one text. Equal texts mean
// equal versions.
std::string GangVersions(const v1::NodeDescription& node);

// Returns an empty text if all nodes have equal versions, else the differences: "NCCL is 2.28.9 on
// a, c and 2.27.3 on b". Unknown versions are equal to one another.
std::string VersionMismatch(const std::vector<const v1::NodeDescription*>& nodes);

// Returns the models of the node's GPUs with these indices, with form factor and MIG profile,
// sorted and without duplicates: "H200 SXM", or "H100 PCIe and H200 NVL".
std::string GangGpus(const v1::NodeDescription& node, const std::vector<int>& gpu_indices);

// Returns an empty text if the GPUs with these indices are of one model on all nodes, else the
// models by node: "the GPU is H100 SXM on a, b and H200 SXM on c".
std::string GpuMismatch(const std::vector<const v1::NodeDescription*>& nodes,
                        const std::vector<int>& gpu_indices);

}  // namespace assay::coordinator
