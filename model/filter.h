// Filters that select items from a list, in the language of Google's AIP-160. For example:
//   gpu.model = "H200" AND (driver >= "580" OR label.rack : "7")
// A filter is parsed into a tree, which Matches() evaluates for an object in memory and
// storage/postgres translates to SQL.
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

// A node of the tree that represents a filter. Immutable after parsing.
struct Filter {
  enum class Kind { kAll, kAnd, kOr, kNot, kRestriction };

  Kind kind = Kind::kAll;  // kAll is the empty filter, which matches everything.
  // The operands: at least two for kAnd and kOr, and one for kNot.
  std::vector<Filter> children;
  // The three parts of a kRestriction. `field` is a dotted path in lower case.
  std::string field;
  Comparator comparator = Comparator::kEqual;
  std::string value;
  // If true, the comparators < <= > >= match only numbers and versions, never other text (see
  // CompareNumbers). The parser sets this to false. Callers may set it to true if they know that
  // the field is numeric.
  bool numbers_only = false;
};

// Limits on the size and nesting of a filter, which keep hostile filters from consuming much time
// or memory.
inline constexpr size_t kMaxFilterBytes = 16 << 10;
inline constexpr int kMaxFilterDepth = 32;

// Parses a filter in the language of AIP-160. AND may be omitted between conditions, OR binds
// tighter than AND, and NOT and - negate a condition. AND, OR and NOT must be upper case. Values
// are quoted strings or single words. `field in (a, b)` means `field = a OR field = b`. Errors give
// the position (in characters, from 1), what was found and what was expected.
Result<Filter> ParseFilter(std::string_view text);

// Returns true if any condition of the filter is about `field`.
bool Mentions(const Filter& filter, std::string_view field);

// A function that returns the values of a field of the object being filtered. A field may have
// several values or none. For example, a node with different GPUs has several GPU models. The
// function returns an error if there is no such field.
using FieldLookup = std::function<Result<std::vector<std::string>>(const std::string& field)>;

// Returns true if the object matches `filter`. If a field has several values, a condition holds if
// any of them meets it; only != requires all of them to differ. Numbers are compared as numbers,
// versions part by part ("580.95" < "580.105"), and anything else as text.
//   - `field = abc*` matches values starting with "abc", and `field = *abc` those ending with it.
//   - `field:abc` matches values that contain "abc", and `field:*` matches any value.
Result<bool> Matches(const Filter& filter, const FieldLookup& lookup);

// Compares two values as Matches() does. Returns a negative number, 0 or a positive number.
//   - If both consist of digits and dots, they are versions, compared part by part. For example,
//     "2.5" < "2.49" because 5 < 49.
//   - Otherwise, if both are numbers (one may have a sign or an exponent), they are compared as
//     such.
//   - All other values are compared as text.
int CompareValues(std::string_view a, std::string_view b);

// Like CompareValues(), but returns nullopt for values that CompareValues() would compare as text.
std::optional<int> CompareNumbers(std::string_view a, std::string_view b);

// Formats a measured number for comparison in a filter. The text always has an exponent, as in
// "2.49e+00", so that it is compared as a number and never as a version.
std::string FilterNumber(double number);

}  // namespace assay
