// Nodes as tables, CSV and descriptions. Pure.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/node_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// "8x H200 SXM", or the CPU where there is no GPU.
std::string HardwareOf(const v1::NodeInventory& inventory);

Table NodeTable(const std::vector<v1::Node>& nodes);

// One record a node, with a header.
std::string NodeCsv(const std::vector<v1::Node>& nodes);

// Everything known of one node, for people. `transfers`: as MeasuredLinks.
std::string DescribeNode(const v1::Node& node, const std::vector<v1::StoredResult>& transfers,
                         const Style& style);

}  // namespace assay::cli
