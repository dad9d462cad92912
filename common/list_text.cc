#include "common/list_text.h"

#include <algorithm>

namespace assay {
namespace {

constexpr size_t kMostRanks = 16;

}  // namespace

std::string JoinSome(const std::vector<std::string>& parts, size_t most, size_t unnamed) {
  const bool one_more = unnamed == 0 && parts.size() == most + 1;
  const size_t named = one_more ? parts.size() : std::min(parts.size(), most);
  std::string text;
  for (size_t i = 0; i < named; ++i) text += (i > 0 ? ", " : "") + parts[i];
  const size_t more = parts.size() - named + unnamed;
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

std::string RankList(const std::vector<std::string>& numbers) {
  return (numbers.size() == 1 ? "rank " : "ranks ") + JoinSome(numbers, kMostRanks);
}

std::string EachRank(const std::set<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back("rank " + std::to_string(rank));
  return JoinSome(names, kMostRanks);
}

}  // namespace assay
