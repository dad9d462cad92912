// Finds names in a valid filter that match nothing and may be misspelt.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/node_service.pb.h"
#include "model/filter.h"

namespace assay::cli {

// Suggests a correction for a filter over results that matched nothing. Finds the first benchmark,
// metric or parameter in the filter that no connected node has, and returns "did you mean ..." with
// the most similar known name. Returns an empty string if no name is similar. This is only a guess,
// because stored results may contain names that no connected node has today.
std::string GuessMisspelt(const Filter& filter, const v1::ListFleetBenchmarksResponse& fleet);

// Returns one warning for each node that a campaign's filter names (`name = g3`) but that is
// unknown. The warning suggests the most similar known name. The campaign can still
// run if the filter matches other nodes.
std::vector<std::string> UnknownNodes(const Filter& filter, const std::vector<v1::Node>& nodes);

}  // namespace assay::cli
