// Filters as in AIP-160: `gpu.model = "H200" AND (driver >= "580" OR label.rack : "7")`. Parsed
// once into a tree, which is evaluated in memory here or translated to SQL by storage/postgres.
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

  Kind kind = Kind::kAll;  // kAll is the empty filter, which matches everything.
  // At least two for kAnd and kOr, one for kNot.
  std::vector<Filter> children;
  // For kRestriction: a dotted path in lower case, the comparator, and the text of the value.
  std::string field;
  Comparator comparator = Comparator::kEqual;
  std::string value;
  // For kRestriction by < <= > >=: true if only values match that CompareNumbers can order against
  // this one. The parser leaves it false; callers that know the field's type set it.
  bool numbers_only = false;
};

// Limits that bound the cost of hostile filters.
inline constexpr size_t kMaxFilterBytes = 16 << 10;
inline constexpr int kMaxFilterDepth = 32;

// Parses a filter. The error has the position (in characters, from 1), what was found and what was
// expected. As in AIP-160, OR binds tighter than AND. AND may be left out between restrictions. NOT
// and - negate. AND, OR and NOT are upper case. Values are quoted strings or bare words.
// Parentheses group.
Result<Filter> ParseFilter(std::string_view text);

// True if the filter names `field` anywhere.
bool Mentions(const Filter& filter, std::string_view field);

// Returns the values that a subject has for a field: none if it lacks the field, several if it has
// many, such as the models of a node's GPUs. An error if no such field exists.
using FieldLookup = std::function<Result<std::vector<std::string>>(const std::string& field)>;

// Returns whether the filter holds. A restriction holds if it holds for one of the field's values;
// != holds if no value is equal. Numbers compare as numbers, dotted versions part by part ("580.95"
// < "580.105"; "580" <= "580.95"), and anything else as text. `=` with a leading or trailing * in
// the value matches by suffix or prefix. `:` means that the text contains the value, and `field:*`
// that the field has a value.
Result<bool> Matches(const Filter& filter, const FieldLookup& lookup);

// Orders two values as Matches does: negative, zero or positive. Two texts of digits and dots are
// versions ("2.5" < "2.49"). Other texts that read as numbers, with a sign or an exponent, are
// numbers.
int CompareValues(std::string_view a, std::string_view b);

// Orders two versions or two numbers as CompareValues does. Nullopt for values that it would
// compare as text.
std::optional<int> CompareNumbers(std::string_view a, std::string_view b);

// Returns the text of a measured number for a lookup: with an exponent, "2.49e+00", so that it
// compares as a number and never as a version.
std::string FilterNumber(double number);

}  // namespace assay
