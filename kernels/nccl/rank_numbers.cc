#include "kernels/nccl/rank_numbers.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "gang/peers.h"

namespace assay {
namespace {

// Returns the numbers of all ranks. Each rank must give as many.
template <typename T>
Result<std::vector<std::vector<T>>> NumbersOfRanks(Peers& peers, const std::vector<T>& mine) {
  std::string bytes(mine.size() * sizeof(T), '\0');
  if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), bytes.size());
  ASSAY_ASSIGN_OR_RETURN(const auto all, AllGather(peers, bytes, kPeerTimeout));
  std::vector<std::vector<T>> numbers;
  for (const std::string& theirs : all) {
    if (theirs.size() != bytes.size()) {
      return Internal("a rank sent " + std::to_string(theirs.size()) + " bytes instead of " +
                          std::to_string(mine.size()) + " numbers",
                      Reason::kBadMessage);
    }
    std::vector<T>& values = numbers.emplace_back(mine.size());
    if (!values.empty()) std::memcpy(values.data(), theirs.data(), theirs.size());
  }
  return numbers;
}

}  // namespace

Result<int64_t> LeastOfRanks(Peers& peers, int64_t mine) {
  ASSAY_ASSIGN_OR_RETURN(const auto all, NumbersOfRanks(peers, std::vector<int64_t>{mine}));
  for (const auto& theirs : all) mine = std::min(mine, theirs.front());
  return mine;
}

Result<std::vector<double>> MeanOfRanks(Peers& peers, const std::vector<double>& mine) {
  ASSAY_ASSIGN_OR_RETURN(const auto all, NumbersOfRanks(peers, mine));
  std::vector<double> mean(mine.size(), 0.0);
  for (const auto& theirs : all) {
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += theirs[i];
  }
  for (double& value : mean) value /= peers.world_size();
  return mean;
}

Result<std::vector<double>> LargestOfRanks(Peers& peers, const std::vector<double>& mine) {
  ASSAY_ASSIGN_OR_RETURN(const auto all, NumbersOfRanks(peers, mine));
  std::vector<double> largest = mine;
  for (const auto& theirs : all) {
    for (size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], theirs[i]);
  }
  return largest;
}

}  // namespace assay
