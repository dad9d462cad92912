#include "common/numbers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace assay {

std::string FormatSignificant(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  const int magnitude = static_cast<int>(std::floor(std::log10(std::fabs(value))));
  return FormatFixed(value, std::min(std::max(digits - 1 - magnitude, 0), 12));
}

bool IsCount(std::string_view unit) {
  constexpr std::array<std::string_view, 2> kCounts = {"registers", "segments"};
  return std::find(kCounts.begin(), kCounts.end(), unit) != kCounts.end();
}

std::string FormatNumber(double value, std::string_view unit, int digits) {
  std::string text = FormatSignificant(value, digits);
  if (!IsCount(unit) || text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string FormatFixed(double value, int decimals) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

std::string FormatExact(double value) {
  std::array<char, 40> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::string(text.data(), end) : std::string();
}

}  // namespace assay
