#include "common/list_text.h"

#include <algorithm>

namespace assay {

std::string JoinSome(const std::vector<std::string>& parts, size_t most, size_t unnamed) {
  const bool one_more = unnamed == 0 && parts.size() == most + 1;
  const size_t named = one_more ? parts.size() : std::min(parts.size(), most);
  std::string text;
  for (size_t i = 0; i < named; ++i) text += (i > 0 ? ", " : "") + parts[i];
  const size_t more = parts.size() - named + unnamed;
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

std::string RankList(const std::vector<std::string>& numbers) {
  constexpr size_t kMost = 16;
  return (numbers.size() == 1 ? "rank " : "ranks ") + JoinSome(numbers, kMost);
}

}  // namespace assay
