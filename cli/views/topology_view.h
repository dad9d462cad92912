// Renders how a node's GPUs are connected and what was measured between them. Pure.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"
#include "assay/v1/result_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Returns a matrix with the kind of link between every two GPUs, and for each GPU its NUMA node,
// CPUs and PCIe switch. Lines below explain the kinds of link. Empty if the inventory has none of
// this.
std::string TopologyText(const v1::NodeInventory& inventory, const Style& style);

// Returns a matrix of the bandwidth from each GPU (row) to each other (column). `results` are those
// of peer_transfer on this node, newest first; only results with the parameters of the newest
// count. Empty if no result is between two of the node's GPUs.
std::string MeasuredLinks(const v1::NodeInventory& inventory,
                          const std::vector<v1::StoredResult>& results, const Style& style);

}  // namespace assay::cli
