// Renders nodes as a table, as CSV and as descriptions, and the links between their GPUs. Pure.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/node_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Returns "8x H200 SXM", or the CPU if the node has no GPU.
std::string HardwareOf(const v1::NodeInventory& inventory);

Table NodeTable(const std::vector<v1::Node>& nodes);

// Returns one record per node, after a header.
std::string NodeCsv(const std::vector<v1::Node>& nodes);

// Describes one node in full. `transfers` are results for MeasuredLinks.
std::string DescribeNode(const v1::Node& node, const std::vector<v1::StoredResult>& transfers,
                         const Style& style);

// Returns a matrix with the kind of link between every two GPUs, and for each GPU its NUMA node,
// CPUs and PCIe switch. Lines below explain the kinds of link. Returns an empty text if the
// inventory has none of this.
std::string TopologyText(const v1::NodeInventory& inventory, const Style& style);

// Returns a matrix of the bandwidth from each GPU (row) to each other (column). `results` are those
// of peer_transfer on this node, newest first; only results with the parameters of the newest
// count. Returns an empty text if no result is between two of the node's GPUs.
std::string MeasuredLinks(const v1::NodeInventory& inventory,
                          const std::vector<v1::StoredResult>& results, const Style& style);

}  // namespace assay::cli
