// Whether the nodes of a gang have the same software: different drivers or NCCL versions
// hang or fail in ways that name neither.
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

}  // namespace assay::coordinator
