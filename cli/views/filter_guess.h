// Finds names in a valid filter that match nothing and may be misspelled.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/node_service.pb.h"
#include "model/filter.h"

namespace assay::cli {

// Suggests a correction for a filter that matched no results. Finds the first benchmark, metric or
// parameter in the filter that no connected node has, and returns "did you mean ..." with the most
// similar known name. Returns an empty string if no name is similar. The suggestion may be wrong,
// because names that appear only in results of disconnected nodes are not considered.
std::string GuessMisspelt(const Filter& filter, const v1::ListFleetBenchmarksResponse& fleet);

// Returns one warning for each unknown node in a campaign's filter, for example for `name = g3` if
// there is no node "g3", and suggests the most similar known name. An unknown name is not an error,
// because the filter may still match other nodes.
std::vector<std::string> UnknownNodes(const Filter& filter, const std::vector<v1::Node>& nodes);

}  // namespace assay::cli
