#include "common/units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>

#include "common/text.h"

namespace assay {
namespace {

std::string_view Trim(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Removes a decimal number from the front of `text` and stores it in `number`. Rounds off excess
// digits. Returns false if there is no number, or if it is negative or too large for `Number`.
template <typename Number>
bool TakeNumber(std::string_view& text, Number& number) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

}  // namespace

Result<int64_t> ParseInteger(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) {
    return InvalidArgument(Quote(text) + " is beyond 64 bits");
  }
  if (error != std::errc() || end != text.data() + text.size()) {
    return InvalidArgument(Quote(text) + " is not a whole number");
  }
  return number;
}

Result<int64_t> ParseBytes(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, int64_t>, 10> kSuffixes = {{
      {"b", 1},
      {"kib", int64_t{1} << 10},
      {"mib", int64_t{1} << 20},
      {"gib", int64_t{1} << 30},
      {"tib", int64_t{1} << 40},
      {"kb", 1000},
      {"mb", 1000'000},
      {"gb", 1000'000'000},
      {"tb", 1000'000'000'000},
      {"", 1},
  }};
  std::string_view rest = Trim(text);
  long double number = 0;  // Has at least the 63 bits of the largest size.
  const bool parsed = TakeNumber(rest, number);
  const std::string suffix = Lower(Trim(rest));
  const auto* unit = std::find_if(kSuffixes.begin(), kSuffixes.end(),
                                  [&](const auto& entry) { return entry.first == suffix; });
  if (!parsed || unit == kSuffixes.end()) {
    return InvalidArgument(Quote(text) +
                           " is not a size; write a number with an optional unit: B, KiB, MiB, "
                           "GiB, TiB, KB, MB, GB or TB");
  }
  const long double bytes = number * static_cast<long double>(unit->second);
  if (bytes >= 0x1p63L) return InvalidArgument(Quote(text) + " is beyond 64 bits");
  if (bytes != std::floor(bytes)) {
    return InvalidArgument(Quote(text) + " is not a whole number of bytes");
  }
  return static_cast<int64_t>(bytes);
}

std::string FormatBytes(int64_t bytes) {
  static constexpr std::array<std::pair<int64_t, const char*>, 8> kUnits = {{
      {int64_t{1} << 40, "TiB"},
      {int64_t{1} << 30, "GiB"},
      {int64_t{1} << 20, "MiB"},
      {int64_t{1} << 10, "KiB"},
      {1000'000'000'000, "TB"},
      {1000'000'000, "GB"},
      {1000'000, "MB"},
      {1000, "KB"},
  }};
  if (bytes > 0) {
    for (const auto& [size, name] : kUnits) {
      if (bytes % size == 0) return std::to_string(bytes / size) + name;
    }
  }
  return std::to_string(bytes) + "B";
}

Result<Duration> ParseDuration(std::string_view text) {
  std::string_view rest = Trim(text);
  const auto bad = [&] {
    return InvalidArgument(Quote(text) +
                           " is not a duration; write for example 250ms, 90s, 20m or 1h30m");
  };
  if (rest.empty()) return bad();
  double seconds = 0;
  while (!rest.empty()) {
    double number = 0;
    if (!TakeNumber(rest, number)) return bad();
    size_t letters = 0;
    while (letters < rest.size() && std::isalpha(static_cast<unsigned char>(rest[letters]))) {
      ++letters;
    }
    const std::string unit = Lower(rest.substr(0, letters));
    rest.remove_prefix(letters);
    static const std::map<std::string, double, std::less<>> kUnits = {
        {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}};
    const auto found = kUnits.find(unit);
    if (found == kUnits.end()) return bad();
    seconds += number * found->second;
  }
  if (seconds > 9e9) return InvalidArgument(Quote(text) + " is longer than 285 years");
  return Duration(std::llround(seconds * 1e9));
}

std::string FormatDuration(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  std::array<char, 32> text{};
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (seconds < 0.001)
    std::snprintf(text.data(), text.size(), "%.0fus", seconds * 1e6);
  else if (seconds < 1)
    std::snprintf(text.data(), text.size(), "%.0fms", seconds * 1e3);
  else if (seconds < 60)
    std::snprintf(text.data(), text.size(), "%.1fs", seconds);
  else if (whole < 3600)
    std::snprintf(text.data(), text.size(), "%lldm%02llds", whole / 60, whole % 60);
  else
    std::snprintf(text.data(), text.size(), "%lldh%02lldm", whole / 3600, whole / 60 % 60);
  return text.data();
}

std::string NumberText(double number, int digits) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, number);
  return text.data();
}

std::string ApproximateBytes(int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

}  // namespace assay
