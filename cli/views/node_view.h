// Renders nodes as a table, as CSV and as descriptions. Pure.
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

}  // namespace assay::cli
