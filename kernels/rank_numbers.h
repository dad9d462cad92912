// Exchanges numbers among the ranks (processes) of a benchmark. All ranks must call these together.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "common/status.h"
#include "gang/peers.h"

namespace assay {

// Returns the numbers of every rank, indexed by rank. Ranks may send different counts of numbers.
template <typename T>
Result<std::vector<std::vector<T>>> NumbersOfRanks(Peers& peers, const std::vector<T>& mine,
                                                   Duration timeout = kPeerTimeout) {
  std::string bytes(mine.size() * sizeof(T), '\0');
  if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), bytes.size());
  ASSAY_ASSIGN_OR_RETURN(const auto all, AllGather(peers, bytes, timeout));
  std::vector<std::vector<T>> numbers;
  for (const std::string& theirs : all) {
    std::vector<T>& values = numbers.emplace_back(theirs.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), theirs.data(), values.size() * sizeof(T));
  }
  return numbers;
}

// Returns the smallest of the ranks' numbers. Each rank gives one.
Result<int64_t> LeastOfRanks(Peers& peers, int64_t mine);

// Returns the mean of each number over all ranks. All ranks must send the same count of numbers.
Result<std::vector<double>> MeanOfRanks(Peers& peers, const std::vector<double>& mine);

// Returns the maximum of each number over all ranks. All ranks must send the same count of numbers.
Result<std::vector<double>> LargestOfRanks(Peers& peers, const std::vector<double>& mine);

}  // namespace assay
