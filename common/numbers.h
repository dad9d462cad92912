// Formats numbers for messages and tables.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Formats with `digits` significant digits and no exponent: 0.01234, 45.20, 712.3, 81920.
std::string FormatSignificant(double value, int digits);

// Returns whether values of `unit` are counts. Counts have no SI prefixes.
bool IsCount(std::string_view unit);

// Formats `value` with `digits` significant digits, without its unit, for example 712.3 or 4.100.
// If the unit is a count, drops trailing zeros after the decimal point, as in 4 or 12.5.
std::string FormatNumber(double value, std::string_view unit, int digits);

// Formats with `decimals` digits after the point: 28.72, 0.10.
std::string FormatFixed(double value, int decimals);

// Returns the shortest text that reads back as the same number.
std::string FormatExact(double value);

}  // namespace assay
