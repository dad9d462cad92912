// Numbers that all ranks of a gang make one of.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"
#include "gang/peers.h"

namespace assay {

// The least of all ranks' numbers, at every rank.
Result<int64_t> LeastOfRanks(Peers& peers, int64_t mine);

// Number by number the mean of all ranks', at every rank; all give as many.
Result<std::vector<double>> MeanOfRanks(Peers& peers, const std::vector<double>& mine);

// Number by number the largest of all ranks', at every rank; all give as many.
Result<std::vector<double>> LargestOfRanks(Peers& peers, const std::vector<double>& mine);

}  // namespace assay
