// The fields that node filters can use, and the reasons why a filter matched no node.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/node_service.pb.h"
#include "common/status.h"
#include "model/filter.h"
#include "wire/field.h"

namespace assay::coordinator {

using NodeFieldRow = schema::Field<v1::Node>;

// Returns the fields that filters over nodes can use.
const std::vector<NodeFieldRow>& NodeFields();

// Returns the node's values for a field of a filter ("gpu.model", "driver", "label.rack").
// INVALID_ARGUMENT names an unknown field, the closest known one, and all of them.
Result<std::vector<std::string>> NodeField(const v1::Node& node, const std::string& field);

// Returns the nodes for which the filter holds, in the order given. Errors as NodeField.
Result<std::vector<v1::Node>> MatchingNodes(const Filter& filter,
                                            const std::vector<v1::Node>& nodes);

// Explains why none of `nodes` matches: names the nodes, and for each restriction the number of
// nodes for which it holds and the values that the nodes have.
std::string ExplainNoMatch(const Filter& filter, const std::vector<v1::Node>& nodes);

}  // namespace assay::coordinator
