// What a filter over results may name, and what each field means. Shared by every
// ResultStore, so that all read a filter alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/filter.h"
#include "common/status.h"
#include "storage/types.h"

namespace assay::storage {

// Text orders as text; a version (digits and dots) only against versions; a name that has a
// version in it ("6.8.0-45-generic") not at all, for as text 6.8 would come after 6.11.
enum class FieldType { kText, kVersion, kNameWithVersion, kNumber, kBoolean };

struct ResultField {
  std::string_view name;
  FieldType type = FieldType::kText;
  // Of the field's values in a result; none where it has no value.
  std::vector<std::string> (*values)(const struct ResultRecord& record);
  // All that a text field may say, where that is known; else empty. Only these may be
  // compared with by = and !=, so that a misspelt one is not a result of no matches.
  std::vector<std::string> words = {};
  // Of a name with a version: what stands after = to find a version, as filters write it.
  std::string_view example = {};
};

// A stored result and what its message does not say.
struct ResultRecord {
  v1::StoredResult stored;
  bool primary = true;  // The first metric of its case, or a case without metrics.
};

// All fields but "parameters.NAME", which every NAME makes one of, and "nccl.NAME", which
// every variable of model/nccl_variables.h does.
const std::vector<ResultField>& ResultFields();

// Prefix of the fields of the benchmark's parameters.
inline constexpr std::string_view kParameterPrefix = "parameters.";

// "NCCL_ALGO" of the field "nccl.nccl_algo", as a filter has it: fields are in lower case
// and NCCL's variables in upper. Nullopt for other fields, also if there is no such
// variable.
std::optional<std::string> NcclVariableOf(std::string_view field);

// The filter as stores apply it: parsed, fields and values checked, times turned
// into seconds since 1970, sizes with units into their numbers where parameters and NCCL's
// variables are compared (by = and != with the size as written too, for a value may be a
// word), and results excluded that are simulated, imported or of a
// secondary metric, unless the filter names `simulated`; `imported`, `imported_from` or
// `campaign`; `metric` or `primary`.
// INVALID_ARGUMENT names an unknown field, the closest known one or all of them; so it
// does an order (< <= > >=) against a value that has none in the field's kind.
Result<Filter> ParseResultFilter(std::string_view text);

// True if `record` matches a filter made by ParseResultFilter.
Result<bool> MatchesResult(const Filter& filter, const ResultRecord& record);

}  // namespace assay::storage
