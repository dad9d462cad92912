// How a node's GPUs are connected, as a matrix, and what was measured between them. Pure.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"
#include "assay/v1/result_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// GPUs against GPUs with the kind of each pair's link, then the NUMA node, the CPUs and the
// PCIe switch next to each; below, what the kinds that occur mean. Empty if the inventory
// tells none of this.
std::string TopologyText(const v1::NodeInventory& inventory, const Style& style);

// The bandwidth of each pair, from row to column, where `results` (newest first, of
// peer_transfer on this node) have one of the newest result's parameters. Empty if none
// is between two of the node's GPUs.
std::string MeasuredLinks(const v1::NodeInventory& inventory,
                          const std::vector<v1::StoredResult>& results, const Style& style);

}  // namespace assay::cli
