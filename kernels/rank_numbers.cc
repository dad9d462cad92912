#include "kernels/rank_numbers.h"

#include <algorithm>

namespace assay {
namespace {

// Returns every rank's numbers, indexed by rank. Fails if another rank has sent more or fewer
// numbers than this one.
template <typename T>
Result<std::vector<std::vector<T>>> EqualCounts(Peers& peers, const std::vector<T>& mine) {
  ASSAY_ASSIGN_OR_RETURN(auto all, NumbersOfRanks(peers, mine));
  for (const auto& theirs : all) {
    if (theirs.size() == mine.size()) continue;
    return Internal("a rank sent " + std::to_string(theirs.size()) + " numbers instead of " +
                        std::to_string(mine.size()),
                    Reason::kBadMessage);
  }
  return all;
}

}  // namespace

Result<int64_t> LeastOfRanks(Peers& peers, int64_t mine) {
  ASSAY_ASSIGN_OR_RETURN(const auto all, EqualCounts(peers, std::vector<int64_t>{mine}));
  for (const auto& theirs : all) mine = std::min(mine, theirs.front());
  return mine;
}

Result<std::vector<double>> MeanOfRanks(Peers& peers, const std::vector<double>& mine) {
  ASSAY_ASSIGN_OR_RETURN(const auto all, EqualCounts(peers, mine));
  std::vector<double> mean(mine.size(), 0.0);
  for (const auto& theirs : all) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += theirs[i];
  }
  for (double& value : mean) value /= peers.world_size();
  return mean;
}

Result<std::vector<double>> LargestOfRanks(Peers& peers, const std::vector<double>& mine) {
  ASSAY_ASSIGN_OR_RETURN(const auto all, EqualCounts(peers, mine));
  std::vector<double> largest = mine;
  for (const auto& theirs : all) {
    for (size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], theirs[i]);
  }
  return largest;
}

}  // namespace assay
