// Quantities as users write and read them: "15T" tokens, "$2.00", "900GB/s", "500ms".
#pragma once

#include <string>
#include <string_view>

#include "common/status.h"

namespace assay::predict {

enum class Unit {
  kNumber,           // Without unit: a ratio, a loss, an exponent.
  kCount,            // A whole number of things.
  kTokens,           // May be a fraction in results.
  kParameters,       // Of a model.
  kBytes,            //
  kSeconds,          //
  kFlop,             //
  kBytesPerSecond,   // In one direction, for links.
  kFlopPerSecond,    //
  kFlopPerByte,      //
  kTokensPerSecond,  //
  kPerSecond,        // Requests.
  kFraction,         // 0.4 is 40%.
  kMoney,            // In one currency per answer; Quantity::currency names it.
  kMoneyPerHour,     //
  kHertz,            //
  kWatts,            //
  kJoules,           //
  kBits,             // Width of a number.
};

// A number in base units: bytes, seconds, FLOP and so on, without prefixes.
struct Quantity {
  double value = 0;
  std::string currency;  // "USD"; only for money.
};

// Parses a quantity in the given unit, such as "15T" tokens, "900GB/s" or "40%". Counts and bytes
// accept decimal and binary prefixes. Times, bandwidths, arithmetic rates and money must have a
// unit, because "900" would be ambiguous. Returns an error for anything else, including NaN and
// numbers of 1e30 or more.
Result<Quantity> ParseQuantity(std::string_view text, Unit unit);

// Returns the unit's symbol in machine-readable output (JSON and CSV), such as "B/s", or an empty
// string for numbers without a unit.
std::string_view Symbol(Unit unit);

// Formats a value for display, such as "1.25 TB/s", "12.3 ms" or "2.00 USD". Bytes are shown in
// both decimal and binary units, as in "141.1 GB (131.4 GiB)". Whole counts are shown exactly, as
// in "8,030,261,248".
std::string FormatQuantity(double value, Unit unit, const std::string& currency = "");

// Returns the placeholder for the unit in help texts, such as "COUNT" or "BYTES/S".
std::string_view UnitWord(Unit unit);

// Returns examples of the unit for help texts and errors, as in `such as "900GB/s"`.
std::string_view Example(Unit unit);

}  // namespace assay::predict
