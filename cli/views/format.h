// Formats numbers and times.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <string_view>

namespace assay::cli {

// A number as text, with its unit.
struct Quantity {
  std::string number;
  std::string unit;
  // Returns "712.3 TFLOP/s".
  std::string ToString() const { return unit.empty() ? number : number + " " + unit; }
};

// Formats `value` with four significant digits. Values below 0.1 or above 10,000 get an SI prefix,
// for example "4.100 us" for 4.1e-6 s. Other values keep their unit, so that the numbers in a
// column are easy to compare. Only bytes, FLOPs and seconds get prefixes. Counts are formatted like
// in FormatNumber.
Quantity FormatQuantity(double value, std::string_view unit);

// Formats with `digits` significant digits and no exponent: 0.01234, 45.20, 712.3, 81920.
std::string FormatSignificant(double value, int digits);

// Returns whether values of `unit` are counts. Counts have no SI prefixes.
bool IsCount(std::string_view unit);

// Formats `value` with `digits` significant digits but without its unit, for example 712.3 or
// 4.100. If the unit is a count, removes trailing zeros of the fraction, which gives 4 or 12.5.
std::string FormatNumber(double value, std::string_view unit, int digits);

// Formats with `decimals` digits after the point: 28.72, 0.10.
std::string FormatFixed(double value, int decimals);

// Returns the shortest text that reads back as the same number.
std::string FormatExact(double value);

// Returns 100 * part / whole as "0.42" or "12"; empty if `whole` is zero.
std::string FormatPercent(double part, double whole);

// Returns local time as "2026-11-21 08:30:05"; empty for an unset timestamp.
std::string FormatTime(const google::protobuf::Timestamp& time);

// Returns UTC as "2026-11-21T08:30:05.120Z"; empty for an unset timestamp.
std::string FormatTimeExact(const google::protobuf::Timestamp& time);

}  // namespace assay::cli
