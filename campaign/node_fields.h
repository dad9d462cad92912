// The fields that node filters can use, and the reasons why a filter matched no node.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/node_service.pb.h"
#include "common/status.h"
#include "model/filter.h"
#include "wire/field.h"

namespace assay::campaign {

using NodeFieldRow = schema::Field<v1::Node>;

// Returns the fields that filters over nodes can use.
const std::vector<NodeFieldRow>& NodeFields();

// Returns a node's values for a filter field, such as "gpu.model", "driver" or "label.rack". If
// there is no such field, returns INVALID_ARGUMENT with the closest field name and a list of all
// fields.
Result<std::vector<std::string>> NodeField(const v1::Node& node, const std::string& field);

// Returns the error of NodeField if the filter names a field that does not exist.
Status CheckNodeFilter(const Filter& filter);

// Returns whether the filter holds for a node. The filter must have passed CheckNodeFilter.
Result<bool> NodeMatches(const Filter& filter, const v1::Node& node);

// Returns the nodes for which the filter holds, in the given order, or an error of NodeField.
Result<std::vector<v1::Node>> MatchingNodes(const Filter& filter,
                                            const std::vector<v1::Node>& nodes);

// Explains to the user why a filter matches none of `nodes`. For each condition of the filter, says
// how many nodes satisfy it and which values the nodes have.
std::string ExplainNoMatch(const Filter& filter, const std::vector<v1::Node>& nodes);

}  // namespace assay::campaign
