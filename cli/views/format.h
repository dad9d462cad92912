// Numbers and times as people read them.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <string_view>

namespace assay::cli {

// A number and the unit that makes it readable.
struct Quantity {
  std::string number;
  std::string unit;
  // "712.3 TFLOP/s".
  std::string ToString() const { return unit.empty() ? number : number + " " + unit; }
};

// `value` in `unit` with four significant digits. Values from 0.1 to 10,000 keep
// the unit, so that a column compares at a glance; others move to the SI prefix
// that fits: (4.1e-6, "s") is 4.100 us. Only units of bytes, FLOPs and seconds
// have prefixes. Counts are as FormatNumber's.
Quantity FormatQuantity(double value, std::string_view unit);

// `digits` significant digits without an exponent: 0.01234, 45.20, 712.3, 81920.
std::string FormatSignificant(double value, int digits);

// Whether values of `unit` are counts, which have no prefixes and, one by one, no decimals.
bool IsCount(std::string_view unit);

// `value` of `unit` without its unit: to `digits` significant digits, of counts without decimals
// that say nothing: 712.3, 4.100 of seconds, and 4 or 12.5 segments.
std::string FormatNumber(double value, std::string_view unit, int digits);

// `decimals` digits behind the point: 28.72, 0.10.
std::string FormatFixed(double value, int decimals);

// The shortest text that reads back as the same number; for machines.
std::string FormatExact(double value);

// 100 * part / whole as "0.42", "12", or "" where `whole` is zero.
std::string FormatPercent(double part, double whole);

// "2026-11-21 08:30:05", local time; empty for an unset timestamp.
std::string FormatTime(const google::protobuf::Timestamp& time);

// "2026-11-21T08:30:05.120Z"; empty for an unset timestamp.
std::string FormatTimeExact(const google::protobuf::Timestamp& time);

}  // namespace assay::cli
