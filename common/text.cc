#include "common/text.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace assay {
namespace {

constexpr size_t kMostRanks = 16;
constexpr std::string_view kReplacement = "\xef\xbf\xbd";

// Returns true for C0, DEL and C1.
bool IsControl(char32_t point) { return point < 0x20 || (point >= 0x7f && point < 0xa0); }

// Returns true for line separators and marks that reorder text.
bool MovesText(char32_t point) {
  return point == 0x2028 || point == 0x2029 || (point >= 0x202a && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069);
}

// Returns the Levenshtein distance.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string JoinSome(const std::vector<std::string>& parts, size_t most, size_t unnamed) {
  // Naming the last part takes no more space than "and 1 more".
  const bool one_more = unnamed == 0 && parts.size() == most + 1;
  const size_t named = one_more ? parts.size() : std::min(parts.size(), most);
  const std::string text = Join(
      std::vector<std::string>(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(named)));
  const size_t more = parts.size() - named + unnamed;
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

std::string RankList(const std::vector<std::string>& numbers) {
  return Plural(static_cast<int64_t>(numbers.size()), "rank") + " " + JoinSome(numbers, kMostRanks);
}

std::string EachRank(const std::set<int>& ranks) {
  std::vector<std::string> names;
  for (const int rank : ranks) names.push_back("rank " + std::to_string(rank));
  return JoinSome(names, kMostRanks);
}

std::string Plural(int64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return std::string(one);
  return many.empty() ? std::string(one) + "s" : std::string(many);
}

std::string Counted(int64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + Plural(count, one, many);
}

std::string Cut(std::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t kept = 0;
  while (kept < text.size()) {
    const size_t next = kept + DecodeUtf8(text.substr(kept)).bytes;
    if (next > most) break;
    kept = next;
  }
  return std::string(text.substr(0, kept)) + "...";
}

std::string Quote(std::string_view text, size_t most) {
  return "\"" + Sanitize(Cut(text, most)) + "\"";
}

std::string ClosestName(std::string_view name, const std::vector<std::string>& names) {
  if (name.size() > 64) return "";
  const std::string* best = nullptr;
  size_t best_distance = std::max<size_t>(name.size() / 3, 1) + 1;
  for (const std::string& candidate : names) {
    // The distance is at least the difference in length.
    const size_t shorter = std::min(name.size(), candidate.size());
    if (std::max(name.size(), candidate.size()) - shorter >= best_distance) continue;
    const size_t distance = EditDistance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best ? *best : "";
}

std::string Suggest(std::string_view name, const std::vector<std::string>& names) {
  if (names.empty()) return "there are none";
  const std::string closest = ClosestName(name, names);
  if (!closest.empty()) return "did you mean \"" + closest + "\"?";
  return names.size() == 1 ? "use " + names[0] : "use one of " + JoinSome(names);
}

std::string DifferenceText(
    const std::string& what, const std::vector<std::string>& values,
    const std::function<std::string(const std::string&, const std::vector<size_t>&)>& say) {
  std::vector<std::pair<std::string, std::vector<size_t>>> positions_by_value;
  for (size_t i = 0; i < values.size(); ++i) {
    auto known = std::find_if(positions_by_value.begin(), positions_by_value.end(),
                              [&](const auto& one) { return one.first == values[i]; });
    if (known == positions_by_value.end())
      known = positions_by_value.insert(known, {values[i], {}});
    known->second.push_back(i);
  }
  if (positions_by_value.size() < 2) return "";
  std::vector<std::string> parts;
  for (const auto& [value, positions] : positions_by_value) parts.push_back(say(value, positions));
  return what + " is " + Join(parts, " and ");
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::vector<std::string_view> Split(std::string_view text, char separator, size_t most) {
  std::vector<std::string_view> pieces;
  while (true) {
    const size_t end = pieces.size() + 1 < most ? text.find(separator) : std::string_view::npos;
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

Utf8Character DecodeUtf8(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1, true};
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return {};
  char32_t point = first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    point = point << 6 | (next & 0x3f);
  }
  const bool overlong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  const bool surrogate = point >= 0xd800 && point <= 0xdfff;
  if (overlong || surrogate || point > 0x10ffff) return {};
  return {point, length, true};
}

bool IsPlainText(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text);
    if (!character.valid || IsControl(character.code_point)) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

std::string Sanitize(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const Utf8Character character = DecodeUtf8(text);
    const char32_t point = character.code_point;
    const bool shown = character.valid && !IsControl(point) && !MovesText(point);
    clean += shown ? text.substr(0, character.bytes) : kReplacement;
    text.remove_prefix(character.bytes);
  }
  return clean;
}

}  // namespace assay
