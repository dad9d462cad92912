// Renders nodes and the links between their GPUs as tables, CSV and descriptions. No I/O.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/node_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Returns "8x H200 SXM", or the CPU if the node has no GPU.
std::string HardwareOf(const v1::NodeInventory& inventory);

// Returns the labels, sorted: "rack=7, row=2".
std::string LabelText(const v1::NodeDescription& description, const char* separator);
// Returns "$2.49/h", or an empty string if the price is unknown.
std::string HourlyPrice(const v1::NodeDescription& description);

Table NodeTable(const std::vector<v1::Node>& nodes);

// Returns one record per node, after a header.
std::string NodeCsv(const std::vector<v1::Node>& nodes);

// Describes one node in full. `transfers` holds results for MeasuredLinks.
std::string DescribeNode(const v1::Node& node, const std::vector<v1::StoredResult>& transfers,
                         const Style& style);

// Returns a matrix that shows how each pair of GPUs in a node is connected. Further columns show
// the NUMA node, CPUs and PCIe switch of each GPU, and a legend explains the types of links.
// Returns an empty string if none of this is known.
std::string TopologyText(const v1::NodeInventory& inventory, const Style& style);

// Returns a matrix of the bandwidths measured from each GPU (row) of a node to each other GPU
// (column). `results` must be the node's results of the peer_transfer benchmark, newest first.
// Shows only results with the same parameters as the newest one. Returns an empty string if none of
// them are between two GPUs of this node.
std::string MeasuredLinks(const v1::NodeInventory& inventory,
                          const std::vector<v1::StoredResult>& results, const Style& style);

}  // namespace assay::cli
