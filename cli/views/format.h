// Formats numbers and times.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <string_view>

#include "common/numbers.h"

namespace assay::cli {

// A number as text, with its unit.
struct Quantity {
  std::string number;
  std::string unit;
  // Returns "712.3 TFLOP/s".
  std::string ToString() const { return unit.empty() ? number : number + " " + unit; }
};

// Formats `value` with four significant digits. If the value is below 0.1 or above 10,000, bytes,
// FLOPs and seconds get an SI prefix, for example "4.100 us" for 4.1e-6 s. Other values keep their
// unit, so that the numbers in a column are easy to compare. Formats counts in the same way as
// FormatNumber.
Quantity FormatQuantity(double value, std::string_view unit);

// Returns 100 * part / whole as "0.42" or "12"; empty if `whole` is zero.
std::string FormatPercent(double part, double whole);

// Returns local time as "2026-11-21 08:30:05"; empty for an unset timestamp.
std::string FormatTime(const google::protobuf::Timestamp& time);

// Returns UTC as "2026-11-21T08:30:05.120Z"; empty for an unset timestamp.
std::string FormatTimeExact(const google::protobuf::Timestamp& time);

}  // namespace assay::cli
