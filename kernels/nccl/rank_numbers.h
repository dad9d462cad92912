// Numbers combined over all ranks of a gang. All ranks must call these functions together.
#pragma once

#include <cstdint>
#include <vector>

#include "common/status.h"
#include "gang/peers.h"

namespace assay {

// Returns the smallest number of all ranks.
Result<int64_t> LeastOfRanks(Peers& peers, int64_t mine);

// Returns the mean over all ranks of each number. All ranks must give as many.
Result<std::vector<double>> MeanOfRanks(Peers& peers, const std::vector<double>& mine);

// Returns the largest over all ranks of each number. All ranks must give as many.
Result<std::vector<double>> LargestOfRanks(Peers& peers, const std::vector<double>& mine);

}  // namespace assay
