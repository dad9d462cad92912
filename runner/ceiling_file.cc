#include "runner/ceiling_file.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "runner/json.h"

namespace assay {
namespace {

constexpr char kEnd[] = "]}\n";
// No device is slower or faster: anything else was not measured.
constexpr double kLeastPerSecond = 1e6;
constexpr double kMostPerSecond = 1e18;
constexpr int64_t kMostSeconds = int64_t{1} << 33;  // The year 2242.

std::string Begin(const CeilingOwner& owner) {
  JsonObject json;
  json.Add("format", 1.0).Add("gpu", owner.uuid).Add("driver", owner.driver);
  json.Add("power_limit_watts", owner.power_limit_watts).Add("software", owner.software);
  std::string text = json.ToString();
  text.pop_back();
  return text + ",\"ceilings\":[";
}

bool IsKind(std::string_view text) {
  return !text.empty() && text.size() <= 32 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Reads a text from its beginning; once something is not there, nothing more is.
class Scanner {
 public:
  explicit Scanner(std::string_view rest) : rest_(rest) {}

  bool Take(std::string_view literal) {
    if (rest_.substr(0, literal.size()) != literal) return false;
    rest_.remove_prefix(literal.size());
    return true;
  }
  // Up to `end`, which is taken too.
  bool TakeUntil(char end, std::string_view* text) {
    const size_t size = rest_.find(end);
    if (size == std::string_view::npos) return false;
    *text = rest_.substr(0, size);
    rest_.remove_prefix(size + 1);
    return true;
  }
  template <typename Number>
  bool TakeNumber(Number* number) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *number);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::string CeilingFileText(const CeilingOwner& owner, const CeilingMap& ceilings) {
  std::string text = Begin(owner);
  bool first = true;
  for (const auto& [kind, ceiling] : ceilings) {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(ceiling.measured_at.time_since_epoch());
    JsonObject json;
    json.Add("kind", kind).Add("per_second", ceiling.per_second);
    json.AddRaw("measured_at", std::to_string(seconds.count()));
    text += (first ? "" : ",") + json.ToString();
    first = false;
  }
  return text + kEnd;
}

CeilingMap ParseCeilingFile(const CeilingOwner& owner, const std::string& text) {
  Scanner scanner(text);
  CeilingMap ceilings;
  if (!scanner.Take(Begin(owner))) return {};
  while (!scanner.Take(kEnd)) {
    std::string_view kind;
    double per_second = 0;
    int64_t seconds = 0;
    const bool read = (ceilings.empty() || scanner.Take(",")) && scanner.Take("{\"kind\":\"") &&
                      scanner.TakeUntil('"', &kind) && scanner.Take(",\"per_second\":") &&
                      scanner.TakeNumber(&per_second) && scanner.Take(",\"measured_at\":") &&
                      scanner.TakeNumber(&seconds) && scanner.Take("}");
    // NaN is within no bounds.
    const bool possible = per_second >= kLeastPerSecond && per_second <= kMostPerSecond &&
                          seconds >= 0 && seconds <= kMostSeconds;
    if (!read || !possible || !IsKind(kind)) return {};
    ceilings[std::string(kind)] = {per_second, WallTime(std::chrono::seconds(seconds))};
  }
  return scanner.empty() ? ceilings : CeilingMap();
}

}  // namespace assay
