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

// Parses a quantity of the unit. Counts and tokens take k, M, G (or B), T and Ki, Mi, Gi, Ti; bytes
// take decimal (GB) and binary (GiB) suffixes; times, bandwidths, rates of arithmetic and money
// need their unit, because "900" might mean anything. A fraction is "0.4" or "40%". Returns an
// error for anything else, for NaN and for numbers of 1e30 or more.
Result<Quantity> ParseQuantity(std::string_view text, Unit unit);

// Returns the unit's symbol for machines, as in JSON and CSV: "B", "s", "B/s", "FLOP/s". Empty for
// numbers without a unit.
std::string_view Symbol(Unit unit);

// Returns "1.25 TB/s" or "12.3 ms" with four significant digits. Bytes are followed by binary
// units: "141.1 GB (131.4 GiB)". Counts are exact: "8,030,261,248". Money: "2.00 USD".
std::string FormatQuantity(double value, Unit unit, const std::string& currency = "");

// Returns the word for the unit in help texts: "COUNT", "BYTES/S".
std::string_view UnitWord(Unit unit);

// Returns examples of the unit for help texts and errors: `such as "900GB/s"`.
std::string_view Example(Unit unit);

}  // namespace assay::predict
