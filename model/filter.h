// Filters for lists, in the language of Google's AIP-160, for example
//   gpu.model = "H200" AND (driver >= "580" OR label.rack : "7")
// A filter is parsed into a tree. The tree is evaluated in memory here, or translated to SQL by
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

  Kind kind = Kind::kAll;  // kAll is the empty filter, which matches everything.
  // At least two for kAnd and kOr, one for kNot.
  std::vector<Filter> children;
  // For kRestriction: a dotted path in lower case, the comparator, and the text of the value.
  std::string field;
  Comparator comparator = Comparator::kEqual;
  std::string value;
  // For comparisons by < <= > >=: true if only numbers and versions match, never other text (see
  // CompareNumbers). The parser sets false; callers that know the field's type may set true.
  bool numbers_only = false;
};

// Limits that bound the cost of hostile filters.
inline constexpr size_t kMaxFilterBytes = 16 << 10;
inline constexpr int kMaxFilterDepth = 32;

// Parses a filter. As in AIP-160, AND may be left out between conditions, OR binds tighter than
// AND, and NOT and - negate. AND, OR and NOT must be upper case. Values are quoted strings or bare
// words. The error has the position (in characters, from 1), what was found and what was expected.
Result<Filter> ParseFilter(std::string_view text);

// True if the filter names `field` anywhere.
bool Mentions(const Filter& filter, std::string_view field);

// Returns the values of a field of the object that is being filtered. A field may have no value or
// several, such as the models of a node's GPUs. Returns an error if no such field exists.
using FieldLookup = std::function<Result<std::vector<std::string>>(const std::string& field)>;

// Returns true if the object matches `filter`. A condition on a field holds if it holds for any of
// the field's values; != holds if no value is equal. Numbers compare as numbers, versions part by
// part ("580.95" < "580.105"; "580" <= "580.95"), anything else as text. `=` matches by prefix or
// suffix if the value ends or begins with *. `:` means that the text contains the value, and
// `field:*` that the field has a value.
Result<bool> Matches(const Filter& filter, const FieldLookup& lookup);

// Compares two values as Matches() does. Returns a number below, equal to or above zero. Two texts
// of digits and dots are versions, so "2.5" < "2.49". Other texts are numbers if they can be read
// as such, for example with a sign or an exponent.
int CompareValues(std::string_view a, std::string_view b);

// Compares two versions or two numbers as CompareValues() does. Returns nullopt for values that it
// would compare as text.
std::optional<int> CompareNumbers(std::string_view a, std::string_view b);

// Returns the text of a measured number for use as a field's value. It has an exponent, as in
// "2.49e+00", so that it is compared as a number and never as a version.
std::string FilterNumber(double number);

}  // namespace assay
