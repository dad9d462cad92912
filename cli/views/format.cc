#include "cli/views/format.h"

#include <google/protobuf/util/time_util.h>

#include <array>
#include <cmath>
#include <ctime>
#include <optional>

namespace assay::cli {
namespace {

struct Prefix {
  std::string_view symbol;
  double factor;
};
constexpr std::array<Prefix, 10> kPrefixes = {{{"n", 1e-9},
                                               {"u", 1e-6},
                                               {"m", 1e-3},
                                               {"", 1},
                                               {"k", 1e3},
                                               {"M", 1e6},
                                               {"G", 1e9},
                                               {"T", 1e12},
                                               {"P", 1e15},
                                               {"E", 1e18}}};

struct SplitUnit {
  double factor;
  std::string_view base;
};

// Splits a unit: "TFLOP/s" is 1e12 times "FLOP/s". Returns nullopt for units without prefixes.
std::optional<SplitUnit> SplitPrefix(std::string_view unit) {
  for (const std::string_view base : {"FLOP/s", "B/s", "s", "B"}) {
    if (unit.size() < base.size() || unit.substr(unit.size() - base.size()) != base) continue;
    const std::string_view symbol = unit.substr(0, unit.size() - base.size());
    for (const Prefix& prefix : kPrefixes) {
      if (prefix.symbol == symbol) return SplitUnit{prefix.factor, base};
    }
  }
  return std::nullopt;
}

}  // namespace

Quantity FormatQuantity(double value, std::string_view unit) {
  constexpr int kDigits = 4;
  const double size = std::fabs(value);
  const std::optional<SplitUnit> split = SplitPrefix(unit);
  if (!split || !std::isfinite(value) || size == 0 || (size >= 0.1 && size < 10'000)) {
    return {FormatNumber(value, unit, kDigits), std::string(unit)};
  }
  const Prefix* best = &kPrefixes.front();
  for (const Prefix& prefix : kPrefixes) {
    // Seconds have no larger prefixes, such as kiloseconds.
    if (split->base == "s" && prefix.factor > 1) break;
    if (size * split->factor >= prefix.factor * 0.99995) best = &prefix;
  }
  return {FormatSignificant(value * split->factor / best->factor, kDigits),
          std::string(best->symbol).append(split->base)};
}

std::string FormatPercent(double part, double whole) {
  if (whole == 0 || !std::isfinite(part / whole)) return "";
  const double percent = 100 * part / whole;
  return FormatFixed(percent, percent < 9.95 ? 2 : 0);
}

std::string FormatTime(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0) return "";
  const std::time_t seconds = time.seconds();
  std::tm parts{};
  if (localtime_r(&seconds, &parts) == nullptr) return "";
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return text.data();
}

std::string FormatTimeExact(const google::protobuf::Timestamp& time) {
  using google::protobuf::util::TimeUtil;
  const bool valid = time.seconds() != 0 && time.seconds() >= TimeUtil::kTimestampMinSeconds &&
                     time.seconds() <= TimeUtil::kTimestampMaxSeconds && time.nanos() >= 0 &&
                     time.nanos() < 1'000'000'000;
  return valid ? TimeUtil::ToString(time) : "";
}

}  // namespace assay::cli
