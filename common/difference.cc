#include "common/difference.h"

#include <algorithm>
#include <utility>

namespace assay {

std::string DifferenceText(const std::string& what, const std::vector<std::string>& texts,
                           const TextOfSome& say) {
  std::vector<std::pair<std::string, std::vector<size_t>>> positions_by_text;
  for (size_t i = 0; i < texts.size(); ++i) {
    auto known = std::find_if(positions_by_text.begin(), positions_by_text.end(),
                              [&](const auto& one) { return one.first == texts[i]; });
    if (known == positions_by_text.end()) known = positions_by_text.insert(known, {texts[i], {}});
    known->second.push_back(i);
  }
  if (positions_by_text.size() < 2) return "";
  std::string told = what + " is ";
  for (const auto& [text, positions] : positions_by_text) {
    if (positions.front() != 0) told += " and ";
    told += say(text, positions);
  }
  return told;
}

}  // namespace assay
