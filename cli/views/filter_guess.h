// Finds names in a valid filter that match nothing and may be misspelt.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/node_service.pb.h"
#include "model/filter.h"

namespace assay::cli {

// Returns a sentence about the first benchmark, metric or parameter in a filter over results that
// the fleet does not have, with the most similar name that it has. This is a guess, because results
// of nodes that left the fleet may have other names. Returns an empty text if no name is similar.
std::string GuessMisspelt(const Filter& filter, const v1::ListFleetBenchmarksResponse& fleet);

// Returns one line for each node that a campaign's filter selects by name (`name = g3`) and that is
// unknown or not connected, with the most similar name. The campaign runs without such a node if
// others match.
std::vector<std::string> AbsentNodes(const Filter& filter, const std::vector<v1::Node>& nodes);

}  // namespace assay::cli
