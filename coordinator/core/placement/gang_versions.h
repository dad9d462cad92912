// Whether the nodes of a gang have the same software and the same GPUs: different drivers or
// NCCL versions hang or fail in ways that name neither, and a result of H100s and H200s
// together says something of neither.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"

namespace assay::coordinator {

// The versions that have to be the same on all nodes of a GPU gang, as one text: equal
// texts, equal versions.
std::string GangVersions(const v1::NodeDescription& node);

// Empty if all nodes have the same; else which has what: "NCCL is 2.28.9 on a, c and
// 2.27.3 on b". What no node could tell differs from nothing.
std::string VersionMismatch(const std::vector<const v1::NodeDescription*>& nodes);

// The models of the node's GPUs with these indices, with form factor and MIG profile, each
// once and sorted: "H200 SXM", or "H100 PCIe beside H200 NVL".
std::string GangGpus(const v1::NodeDescription& node, const std::vector<int>& gpu_indices);

// Empty if the GPUs with these indices are of one model on all nodes; else which node has
// what: "the GPU is H100 SXM on a, b and H200 SXM on c".
std::string GpuMismatch(const std::vector<const v1::NodeDescription*>& nodes,
                        const std::vector<int>& gpu_indices);

}  // namespace assay::coordinator
