// Why a filter that is sound may still match nothing.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/node_service.pb.h"
#include "model/filter.h"

namespace assay::cli {

// Of a filter over results that matched none: the first benchmark, metric or parameter that it
// names and nothing in the fleet has, with the nearest that it has. Results may be of nodes that
// have left, so this is a guess; empty if nothing is near.
std::string GuessMisspelt(const Filter& filter, const v1::ListFleetBenchmarksResponse& fleet);

// Of a campaign's filter over nodes: a line for each that it asks for by name (`name = g3`) and
// that is not connected or not known, with the nearest name. Such a node is left out where others
// match.
std::vector<std::string> AbsentNodes(const Filter& filter, const std::vector<v1::Node>& nodes);

}  // namespace assay::cli
