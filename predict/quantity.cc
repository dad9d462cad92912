#include "predict/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "common/numbers.h"
#include "common/text.h"
#include "common/units.h"

namespace assay::predict {
namespace {

constexpr double kTooLarge = 1e30;

struct Suffix {
  std::string_view text;
  double factor;
};

constexpr double kKi = 1024;
constexpr Suffix kCounts[] = {{"", 1},
                              {"k", 1e3},
                              {"K", 1e3},
                              {"M", 1e6},
                              {"G", 1e9},
                              {"B", 1e9},
                              {"T", 1e12},
                              {"Ki", kKi},
                              {"Mi", kKi* kKi},
                              {"Gi", kKi* kKi* kKi},
                              {"Ti", kKi* kKi* kKi* kKi}};
constexpr Suffix kBytes[] = {{"", 1},
                             {"B", 1},
                             {"kB", 1e3},
                             {"KB", 1e3},
                             {"MB", 1e6},
                             {"GB", 1e9},
                             {"TB", 1e12},
                             {"KiB", kKi},
                             {"MiB", kKi* kKi},
                             {"GiB", kKi* kKi* kKi},
                             {"TiB", kKi* kKi* kKi* kKi}};
constexpr Suffix kBandwidths[] = {
    {"B/s", 1},          {"kB/s", 1e3},       {"MB/s", 1e6},
    {"GB/s", 1e9},       {"TB/s", 1e12},      {"GiB/s", kKi* kKi* kKi},
    {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}, {"Gb/s", 1e9 / 8},
    {"Gbps", 1e9 / 8},   {"Tbit/s", 1e12 / 8}};
constexpr Suffix kSeconds[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
                               {"min", 60},  {"h", 3600},  {"d", 86400}};
constexpr Suffix kFlops[] = {{"", 1},          {"FLOP", 1},     {"FLOPs", 1},     {"GFLOP", 1e9},
                             {"GFLOPs", 1e9},  {"TFLOP", 1e12}, {"TFLOPs", 1e12}, {"PFLOP", 1e15},
                             {"PFLOPs", 1e15}, {"EFLOP", 1e18}, {"EFLOPs", 1e18}, {"ZFLOP", 1e21},
                             {"ZFLOPs", 1e21}};
constexpr Suffix kFlopRates[] = {
    {"FLOP/s", 1},   {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {"EFLOP/s", 1e18},
    {"GFLOPS", 1e9}, {"TFLOPS", 1e12}, {"PFLOPS", 1e15},  {"TOPS", 1e12},    {"TOP/s", 1e12}};
constexpr Suffix kIntensities[] = {{"", 1}, {"FLOP/B", 1}};
constexpr Suffix kTokenRates[] = {{"tok/s", 1}, {"/s", 1}, {"ktok/s", 1e3}, {"", 1}};
constexpr Suffix kRates[] = {{"/s", 1}, {"/min", 1.0 / 60}, {"/h", 1.0 / 3600}};
constexpr Suffix kFractions[] = {{"", 1}, {"%", 0.01}};
constexpr Suffix kHertz[] = {{"Hz", 1}, {"MHz", 1e6}, {"GHz", 1e9}};
constexpr Suffix kWatts[] = {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}};
constexpr Suffix kJoules[] = {{"J", 1}, {"kJ", 1e3}, {"Wh", 3600}, {"kWh", 3.6e6}};
constexpr Suffix kPlain[] = {{"", 1}};
constexpr Suffix kBitWidths[] = {{"", 1}, {"bit", 1}, {"bits", 1}};

struct Suffixes {
  const Suffix* first;
  size_t count;
};
template <size_t N>
constexpr Suffixes All(const Suffix (&list)[N]) {
  return {list, N};
}

Suffixes SuffixesOf(Unit unit) {
  switch (unit) {
    case Unit::kCount:
    case Unit::kTokens:
    case Unit::kParameters:
      return All(kCounts);
    case Unit::kBytes:
      return All(kBytes);
    case Unit::kSeconds:
      return All(kSeconds);
    case Unit::kFlop:
      return All(kFlops);
    case Unit::kBytesPerSecond:
      return All(kBandwidths);
    case Unit::kFlopPerSecond:
      return All(kFlopRates);
    case Unit::kFlopPerByte:
      return All(kIntensities);
    case Unit::kTokensPerSecond:
      return All(kTokenRates);
    case Unit::kPerSecond:
      return All(kRates);
    case Unit::kFraction:
      return All(kFractions);
    case Unit::kHertz:
      return All(kHertz);
    case Unit::kWatts:
      return All(kWatts);
    case Unit::kJoules:
      return All(kJoules);
    case Unit::kBits:
      return All(kBitWidths);
    case Unit::kNumber:
    case Unit::kMoney:
    case Unit::kMoneyPerHour:
      break;
  }
  return All(kPlain);
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Status Refused(std::string_view text, Unit unit) {
  return InvalidArgument(Quote(text) + " must be " + std::string(Example(unit)));
}

// Removes the leading number and the spaces after it from `text`, so that "2.00 USD" becomes "USD".
// Returns the number, or an error if there is none or it is NaN, infinite or too large.
Result<double> LeadingNumber(std::string_view& text, std::string_view whole, Unit unit) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range || (error == std::errc() && number >= kTooLarge)) {
    return InvalidArgument(Quote(whole) + " is too large");
  }
  if (error != std::errc() || !std::isfinite(number)) return Refused(whole, unit);
  text = Trim(text.substr(static_cast<size_t>(end - text.data())));
  return number;
}

Result<Quantity> ParseMoney(std::string_view whole, Unit unit) {
  std::string_view text = Trim(whole);
  static constexpr struct {
    std::string_view sign;
    const char* currency;
  } kSigns[] = {{"$", "USD"}, {"€", "EUR"}, {"£", "GBP"}};
  Quantity money;
  for (const auto& [sign, currency] : kSigns) {
    if (text.starts_with(sign)) {
      money.currency = currency;
      text = Trim(text.substr(sign.size()));
    }
  }
  ASSAY_ASSIGN_OR_RETURN(money.value, LeadingNumber(text, whole, unit));
  for (const std::string_view period : {"/h", "/hour"}) {
    if (unit == Unit::kMoneyPerHour && text.ends_with(period)) {
      text = Trim(text.substr(0, text.size() - period.size()));
    }
  }
  if (money.currency.empty()) {
    for (const auto& [sign, currency] : kSigns) {
      if (text == sign) money.currency = currency;
    }
  }
  if (money.currency.empty()) {
    const bool code = text.size() == 3 && text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
                                              std::string_view::npos;
    if (!code) {
      return InvalidArgument(Quote(whole) +
                             (text.empty() ? " has no currency" : " is not a price") +
                             "; it must be " + std::string(Example(unit)));
    }
    money.currency = std::string(text);
  } else if (!text.empty() && text != "/h") {
    return Refused(whole, unit);
  }
  return money;
}

std::string Grouped(double value) {
  if (std::fabs(value) >= 1e15) return NumberText(value);
  const std::string digits = FormatFixed(std::fabs(value), 0);
  std::string text = value < 0 ? "-" : "";
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

// Formats `value` with the largest prefix for which the number is at least 1.
std::string WithPrefix(double value, const std::vector<Suffix>& prefixes, std::string_view symbol) {
  const Suffix* chosen = &prefixes.front();
  for (const Suffix& prefix : prefixes) {
    if (std::fabs(value) >= prefix.factor) chosen = &prefix;
  }
  const std::string number = value == 0 ? "0" : FormatSignificant(value / chosen->factor, 4);
  return number + " " + std::string(chosen->text) + std::string(symbol);
}

const std::vector<Suffix> kDecimal = {{"", 1},     {"k", 1e3},  {"M", 1e6},  {"G", 1e9},
                                      {"T", 1e12}, {"P", 1e15}, {"E", 1e18}, {"Z", 1e21}};

std::string FormatSeconds(double value) {
  if (std::fabs(value) < 120) {
    return WithPrefix(value, {{"n", 1e-9}, {"u", 1e-6}, {"m", 1e-3}, {"", 1}}, "s");
  }
  if (std::fabs(value) < 7200) return FormatSignificant(value / 60, 4) + " min";
  if (std::fabs(value) < 172800) return FormatSignificant(value / 3600, 4) + " h";
  return value < 86400 * 1e5 ? FormatSignificant(value / 86400, 4) + " days"
                             : NumberText(value / 86400) + " days";
}

std::string FormatSize(double value) {
  const std::string decimal = WithPrefix(
      value, {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}}, "B");
  if (std::fabs(value) < 1e6) return Grouped(value) + " B";
  return decimal + " (" +
         WithPrefix(value,
                    {{"Mi", kKi * kKi}, {"Gi", kKi * kKi * kKi}, {"Ti", kKi * kKi * kKi * kKi}},
                    "B") +
         ")";
}

std::string FormatPlain(double value) {
  if (value != 0 && (std::fabs(value) >= 1e9 || std::fabs(value) < 1e-4)) {
    return NumberText(value);
  }
  const bool whole = value == std::floor(value) || std::fabs(value) >= 1e4;
  return whole ? Grouped(value) : FormatSignificant(value, 4);
}

std::string FormatMoney(double value) {
  if (value != 0 && (std::fabs(value) < 1e-6 || std::fabs(value) >= 1e15)) return NumberText(value);
  if (value != 0 && std::fabs(value) < 1) return FormatSignificant(value, 3);
  if (std::fabs(value) >= 1e4) return Grouped(value);
  return FormatFixed(value, 2);
}

}  // namespace

Result<Quantity> ParseQuantity(std::string_view whole, Unit unit) {
  if (unit == Unit::kMoney || unit == Unit::kMoneyPerHour) return ParseMoney(whole, unit);
  std::string_view text = Trim(whole);
  ASSAY_ASSIGN_OR_RETURN(const double number, LeadingNumber(text, whole, unit));
  const Suffixes suffixes = SuffixesOf(unit);
  for (size_t i = 0; i < suffixes.count; ++i) {
    if (suffixes.first[i].text != text) continue;
    const double value = number * suffixes.first[i].factor;
    if (value >= kTooLarge) return InvalidArgument(Quote(whole) + " is too large");
    return Quantity{value, ""};
  }
  return Refused(whole, unit);
}

std::string_view Symbol(Unit unit) {
  switch (unit) {
    case Unit::kNumber:
    case Unit::kCount:
    case Unit::kFraction:
      return "";
    case Unit::kTokens:
      return "tok";
    case Unit::kParameters:
      return "parameters";
    case Unit::kBytes:
      return "B";
    case Unit::kSeconds:
      return "s";
    case Unit::kFlop:
      return "FLOP";
    case Unit::kBytesPerSecond:
      return "B/s";
    case Unit::kFlopPerSecond:
      return "FLOP/s";
    case Unit::kFlopPerByte:
      return "FLOP/B";
    case Unit::kTokensPerSecond:
      return "tok/s";
    case Unit::kPerSecond:
      return "1/s";
    case Unit::kMoney:
      return "money";
    case Unit::kMoneyPerHour:
      return "money/h";
    case Unit::kHertz:
      return "Hz";
    case Unit::kWatts:
      return "W";
    case Unit::kJoules:
      return "J";
    case Unit::kBits:
      return "bit";
  }
  return "";
}

std::string FormatQuantity(double value, Unit unit, const std::string& currency) {
  switch (unit) {
    case Unit::kNumber:
      return FormatPlain(value);
    case Unit::kCount:
    case Unit::kParameters:
      return std::fabs(value) < 1e15 && (value == std::floor(value) || std::fabs(value) >= 1e4)
                 ? Grouped(value)
                 : FormatPlain(value);
    case Unit::kTokens:
      if (std::fabs(value) >= 1e7) return WithPrefix(value, kDecimal, "tok");
      return (value == std::floor(value) ? Grouped(value) : FormatPlain(value)) + " tok";
    case Unit::kBytes:
      return FormatSize(value);
    case Unit::kSeconds:
      return FormatSeconds(value);
    case Unit::kFlop:
    case Unit::kBytesPerSecond:
    case Unit::kFlopPerSecond:
    case Unit::kHertz:
      return WithPrefix(value, kDecimal, Symbol(unit));
    case Unit::kFraction:
      return FormatSignificant(value * 100, 3) + "%";
    case Unit::kJoules: {
      constexpr double kWattHour = 3600;
      if (std::fabs(value) < 1e3 * kWattHour) return WithPrefix(value, kDecimal, "J");
      return WithPrefix(value / kWattHour, kDecimal, "Wh");
    }
    case Unit::kMoney:
      return FormatMoney(value) + " " + currency;
    case Unit::kMoneyPerHour:
      return FormatMoney(value) + " " + currency + "/h";
    case Unit::kTokensPerSecond:
      return (std::fabs(value) >= 1e4 ? Grouped(value) : FormatSignificant(value, 4)) + " tok/s";
    case Unit::kPerSecond:
      return FormatSignificant(value, 4) + "/s";
    case Unit::kFlopPerByte:
      return FormatSignificant(value, 4) + " FLOP/B";
    case Unit::kWatts:
      return FormatPlain(value) + " W";
    case Unit::kBits:
      return FormatPlain(value) + " bit";
  }
  return "";
}

std::string_view UnitWord(Unit unit) {
  switch (unit) {
    case Unit::kCount:
      return "COUNT";
    case Unit::kTokens:
      return "TOKENS";
    case Unit::kParameters:
      return "PARAMETERS";
    case Unit::kBytes:
      return "BYTES";
    case Unit::kSeconds:
      return "TIME";
    case Unit::kFlop:
      return "FLOP";
    case Unit::kBytesPerSecond:
      return "BYTES/S";
    case Unit::kFlopPerSecond:
      return "FLOP/S";
    case Unit::kTokensPerSecond:
      return "TOKENS/S";
    case Unit::kPerSecond:
      return "RATE";
    case Unit::kFraction:
      return "FRACTION";
    case Unit::kMoney:
    case Unit::kMoneyPerHour:
      return "PRICE";
    case Unit::kHertz:
      return "CLOCK";
    case Unit::kWatts:
      return "POWER";
    case Unit::kJoules:
      return "ENERGY";
    case Unit::kBits:
      return "BITS";
    case Unit::kNumber:
    case Unit::kFlopPerByte:
      break;
  }
  return "NUMBER";
}

std::string_view Example(Unit unit) {
  switch (unit) {
    case Unit::kNumber:
      return "a number";
    case Unit::kCount:
      return "a count such as 32, 4Mi or 1k";
    case Unit::kTokens:
      return "a number of tokens such as 8192, 15T or 4Mi";
    case Unit::kParameters:
      return "a number of parameters such as 70B or 124M";
    case Unit::kBytes:
      return "a size such as 80GB or 512MiB";
    case Unit::kSeconds:
      return "a time with its unit, such as 500ms, 30us or 30d";
    case Unit::kFlop:
      return "a number of operations such as 6e17 or 3.8e25FLOP";
    case Unit::kBytesPerSecond:
      return "a bandwidth with its unit, such as 900GB/s or 400Gbit/s";
    case Unit::kFlopPerSecond:
      return "a rate with its unit, such as 989TFLOP/s";
    case Unit::kFlopPerByte:
      return "FLOP per byte, such as 295";
    case Unit::kTokensPerSecond:
      return "tokens per second, such as 3200tok/s";
    case Unit::kPerSecond:
      return "a rate with its unit, such as 20/s";
    case Unit::kFraction:
      return "a fraction such as 0.4 or 40%";
    case Unit::kMoney:
    case Unit::kMoneyPerHour:
      return "a price with its currency, such as $2.00 or 2.00 USD";
    case Unit::kHertz:
      return "a clock with its unit, such as 1830MHz";
    case Unit::kWatts:
      return "a power with its unit, such as 700W";
    case Unit::kJoules:
      return "an energy with its unit, such as 3kWh";
    case Unit::kBits:
      return "a width in bits, such as 4";
  }
  return "";
}

}  // namespace assay::predict
