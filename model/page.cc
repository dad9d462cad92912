#include "model/page.h"

#include <algorithm>

#include "common/units.h"

namespace assay {
namespace {

Status BadToken() {
  return InvalidArgument("the page token is not one that this list returned",
                         Reason::kBadPageToken);
}

}  // namespace

std::string MakePageToken(char kind, int64_t position) { return kind + std::to_string(position); }

Result<int64_t> ParsePageToken(char kind, const std::string& token, int64_t first) {
  if (token.empty()) return first;
  if (token[0] == kind && token.size() <= 20) {
    const auto position = ParseInteger(token.substr(1));
    if (position.ok() && *position >= 0) return *position;
  }
  return BadToken();
}

Result<std::string> ParseTextToken(char kind, const std::string& token) {
  if (token.empty()) return std::string();
  if (token[0] != kind) return BadToken();
  return token.substr(1);
}

int PageSize(const PageRequest& request) {
  return request.size < 1 ? 100 : std::min(request.size, 10'000);
}

}  // namespace assay
