#include "coordinator/core/campaign/text.h"

#include "common/list_text.h"
#include "model/parameter.h"

namespace assay::coordinator {

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

std::string JoinSome(const std::vector<std::string>& parts) {
  constexpr size_t kMost = 10;
  return assay::JoinSome(parts, kMost);
}

std::string Cut(std::string_view text) {
  constexpr size_t kMost = 64;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
}

std::string Suggest(std::string_view name, const std::vector<std::string>& names) {
  const std::string closest = ClosestName(name, names);
  const std::string all = names.empty() ? "there are none" : "there are " + JoinSome(names);
  return closest.empty() ? all : "did you mean " + closest + "? (" + all + ")";
}

}  // namespace assay::coordinator
