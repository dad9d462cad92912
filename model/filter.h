// AIP-160 filters: `gpu.model = "H200" AND (driver >= "580" OR label.rack : "7")`.
// Parsed once into a tree; evaluated in memory here, or translated to SQL by
// storage/postgres.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace assay {

enum class Comparator { kEqual, kNotEqual, kLess, kLessOrEqual, kGreater, kGreaterOrEqual, kHas };

// A node of the tree. Immutable after parsing.
struct Filter {
  enum class Kind { kAll, kAnd, kOr, kNot, kRestriction };

  Kind kind = Kind::kAll;  // kAll: the empty filter; everything matches.
  // kAnd, kOr: two or more; kNot: one.
  std::vector<Filter> children;
  // kRestriction: dotted lower-case path, comparator, text of the value.
  std::string field;
  Comparator comparator = Comparator::kEqual;
  std::string value;
  // kRestriction by < <= > >=: holds only for values that CompareNumbers orders against
  // this one. The parser leaves it false; who knows the field's kind sets it.
  bool numbers_only = false;
};

// Limits that keep hostile filters cheap.
inline constexpr size_t kMaxFilterBytes = 16 << 10;
inline constexpr int kMaxFilterDepth = 32;

// The error says at which character (1-based) what was found and what may stand
// there. As in AIP-160, OR binds tighter than AND. AND may be left out between restrictions; NOT
// and - negate; AND, OR and NOT are upper case; values are quoted strings or bare words;
// parentheses group.
Result<Filter> ParseFilter(std::string_view text);

// True if the filter names `field` anywhere.
bool Mentions(const Filter& filter, std::string_view field);

// The values that a thing has for a field: none if it lacks it, several if it
// has many (the models of a node's GPUs). An error if no such field exists.
using FieldLookup = std::function<Result<std::vector<std::string>>(const std::string& field)>;

// A restriction holds if it holds for any of the field's values (for !=: if none
// is equal). Numbers compare as numbers, dotted versions part by part ("580.95"
// < "580.105"; "580" <= "580.95"), anything else as text. `=` with a leading or
// trailing * in the value matches by suffix or prefix; `:` means the text
// contains the value, and `field:*` that the field is there.
Result<bool> Matches(const Filter& filter, const FieldLookup& lookup);

// Orders two values as Matches does: negative, zero or positive. Digits and dots
// alone are a version ("2.5" < "2.49"); anything else that reads as a number, with
// a sign or an exponent, is one.
int CompareValues(std::string_view a, std::string_view b);

// The order of two versions or of two numbers, as CompareValues has it; nullopt where
// that would compare them as text.
std::optional<int> CompareNumbers(std::string_view a, std::string_view b);

// How a lookup gives a measured number, so that it compares as a number and
// never as a version: with an exponent, "2.49e+00".
std::string FilterNumber(double number);

}  // namespace assay
