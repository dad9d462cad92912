#include "wire/result_filter.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <vector>

#include "common/text.h"
#include "common/units.h"
#include "model/nccl_variables.h"
#include "model/parameter.h"
#include "wire/result_flags.h"
#include "wire/timestamps.h"

namespace assay::schema {
namespace {

constexpr std::string_view kParameters = "parameters.";
constexpr std::string_view kNcclVariables = "nccl_variables.";
constexpr std::string_view kLabel = "label.";
constexpr std::string_view kNcclPrefix = "NCCL_";
// Stores cannot compare numbers of at least this size, or numbers smaller than its inverse.
constexpr double kNumberLimit = 1e99;
constexpr size_t kShownBytes = 80;
// Result fields that filters cannot use, but that are also the names of benchmark parameters.
constexpr std::array<std::string_view, 4> kAlsoParameters = {"batch", "bytes", "direction", "n"};

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper;
}

std::string Parameter(std::string_view name) {
  return std::string(kParameters).append(name.substr(0, kShownBytes));
}

Status BadValue(const Filter& restriction, const std::string& expected) {
  return InvalidArgument("filter: `" + restriction.field + "` must be compared with " + expected +
                             ", not \"" + restriction.value.substr(0, kShownBytes) + "\"",
                         Reason::kBadFilter);
}

// Returns all field names that a user may type in a filter, each mapped to its full name. NCCL
// variables can be abbreviated: nccl_variables.nccl_algo, nccl.nccl_algo, nccl_algo,
// nccl_variables.algo and nccl.algo all mean NCCL_ALGO.
std::map<std::string, std::string> TypedNames() {
  std::map<std::string, std::string> names;
  const auto add_variable = [&names](std::string_view variable) {
    const std::string lower = Lower(variable);
    const std::string bare = lower.substr(kNcclPrefix.size());
    const std::string name = std::string(kNcclVariables).append(variable);
    for (const std::string& typed :
         {lower, "nccl." + lower, "nccl." + bare, std::string(kNcclVariables) + lower,
          std::string(kNcclVariables) + bare}) {
      names[typed] = name;
    }
  };
  for (const NcclVariable& variable : NcclVariables()) add_variable(variable.name);
  add_variable(kNcclHostId);
  for (const ResultField& field : ResultFields()) {
    if (!field.example.empty() && field.type != FieldType::kMap) {
      names[std::string(field.name)] = field.name;
    }
  }
  return names;
}

// Returns the field name that the user probably meant, or an empty string if no name is similar. If
// `number` is true, avoids text fields if possible, because the user is comparing with a number.
// For example, "nodes = 2" probably means the benchmark parameter `nodes`, not the field `node`.
std::string ClosestField(const std::string& typed, bool number) {
  const std::map<std::string, std::string> names = TypedNames();
  std::vector<std::string> known;
  for (const auto& [name, meant] : names) known.push_back(name);
  const std::string closest = ClosestName(typed, known);
  const ResultField* const field = FindResultField(closest);
  const bool of_text =
      field != nullptr && (field->type == FieldType::kText || field->type == FieldType::kTexts);
  if (!closest.empty() && !(number && of_text)) return names.at(closest);
  const size_t dot = typed.find('.');
  if (dot == std::string::npos) return Parameter(typed);
  const bool parameter = !ClosestName(typed.substr(0, dot + 1), {std::string(kParameters)}).empty();
  if (parameter) return Parameter(std::string_view(typed).substr(dot + 1));
  return closest.empty() ? "" : names.at(closest);
}

Status UnknownField(const std::string& typed, bool number, const std::string& where = "filter") {
  const std::string shown = typed.substr(0, kShownBytes);
  const auto error = [&where](const std::string& what) {
    return InvalidArgument(where + ": " + what, Reason::kUnknownField);
  };
  if (const ResultField* const field = FindResultField(typed)) {
    const Status unusable =
        error(where == "filter" ? "cannot filter by the result field `" + shown + "`"
                                : "the result field `" + shown + "` cannot be used here");
    if (field->type == FieldType::kMap) {
      const std::string_view member = field->example.substr(0, field->example.find(' '));
      return unusable.WithHint("name one of its members: `" +
                               std::string(where == "filter" ? field->example : member) + "`");
    }
    const bool parameter =
        std::find(kAlsoParameters.begin(), kAlsoParameters.end(), typed) != kAlsoParameters.end();
    return parameter ? unusable.WithHint("did you mean `" + Parameter(typed) + "`?") : unusable;
  }
  std::string known;
  if (typed.starts_with(kNcclVariables)) {
    known = "results do not record the NCCL variable `" +
            Upper(std::string_view(shown).substr(std::min(shown.size(), kNcclVariables.size()))) +
            "`; they record those that a campaign may set, and NCCL_HOSTID";
  } else {
    std::vector<std::string> names;
    for (const ResultField& field : ResultFields()) {
      if (field.example.empty()) continue;
      names.push_back(std::string(field.name) + (field.type == FieldType::kMap ? ".NAME" : ""));
    }
    known = "results have no field `" + shown + "`; the fields are " + Join(names);
  }
  const std::string closest = ClosestField(typed, number);
  return closest.empty() ? error(known) : error(known).WithHint("did you mean `" + closest + "`?");
}

// Parses a finite decimal number. Returns nullopt if the text contains anything else.
std::optional<double> DecimalNumber(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool plain = text.find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (text.empty() || *end != '\0' || !plain || !std::isfinite(number)) return std::nullopt;
  return number;
}

bool IsEquality(const Filter& restriction) {
  return restriction.comparator == Comparator::kEqual ||
         restriction.comparator == Comparator::kNotEqual;
}

bool IsOrder(const Filter& restriction) {
  return !IsEquality(restriction) && restriction.comparator != Comparator::kHas;
}

// Rewrites the number so that it never compares as a version.
Status CheckNumber(Filter& restriction) {
  const std::optional<double> number = DecimalNumber(restriction.value);
  if (!number) return BadValue(restriction, "a number");
  restriction.value = FilterNumber(*number);
  return Status::Ok();
}

Status CheckTime(Filter& restriction, WallTime now) {
  const auto time = ParseTimeAt(restriction.value, now);
  if (!time.ok()) return BadValue(restriction, "a time such as 2026-01-31T08:00:00Z or -12h");
  restriction.value = FilterNumber(SecondsSince1970(*time));
  return Status::Ok();
}

Status CheckBoolean(const Filter& restriction) {
  const bool valid = restriction.value == "true" || restriction.value == "false";
  if (IsEquality(restriction) && valid) return Status::Ok();
  return BadValue(restriction, "true or false by = or !=");
}

// Converts a size with a unit to bytes: "1MiB" becomes "1048576". Returns nullopt for other texts.
std::optional<std::string> NumberOfSize(const std::string& text) {
  if (DecimalNumber(text)) return std::nullopt;
  const Result<int64_t> bytes = ParseBytes(text);
  return bytes.ok() ? std::optional(std::to_string(*bytes)) : std::nullopt;
}

// Extends a comparison with a value, a, to a second value, b:
//   "= a"   becomes  "= a OR = b"
//   "!= a"  becomes  "!= a AND != b"
void AlsoCompareWith(Filter& restriction, std::string value) {
  Filter either;
  either.kind =
      restriction.comparator == Comparator::kEqual ? Filter::Kind::kOr : Filter::Kind::kAnd;
  either.children.assign(2, restriction);
  either.children.back().value = std::move(value);
  restriction = std::move(either);
}

// Checks a comparison of a benchmark parameter or NCCL variable with a value. Stored values are
// words or whole numbers without units, so sizes such as 1MiB are converted to numbers.
Status CheckSetting(Filter& restriction) {
  if (restriction.comparator == Comparator::kHas) return Status::Ok();
  const std::optional<std::string> size = NumberOfSize(restriction.value);
  if (IsEquality(restriction)) {
    if (size) AlsoCompareWith(restriction, *size);
    return Status::Ok();
  }
  restriction.numbers_only = true;
  const std::optional<double> number = DecimalNumber(restriction.value);
  if (size) {
    restriction.value = *size;
  } else if (!number || std::abs(*number) >= kNumberLimit) {
    return BadValue(restriction, "a number or a size by < <= > >=")
        .WithHint(
            "write for example 4096, 0.5, 64KiB or 1MiB; words can only be compared by = and !=");
  } else if (restriction.value.find_first_not_of("0123456789") != std::string::npos) {
    // Reformat numbers that are not whole; otherwise "1.5" would be compared as a version. Leave
    // whole numbers unchanged, because they compare exactly.
    restriction.value = FilterNumber(std::abs(*number) < 1 / kNumberLimit ? 0 : *number);
  }
  return Status::Ok();
}

Status CheckVersion(Filter& restriction) {
  if (!IsOrder(restriction)) return Status::Ok();
  restriction.numbers_only = true;
  const bool plain = restriction.value.find_first_not_of(".0123456789") == std::string::npos;
  if (plain && CompareNumbers(restriction.value, "0")) return Status::Ok();
  return BadValue(restriction, "digits and dots by < <= > >=")
      .WithHint("write for example 580 or 580.95.05");
}

Status CheckUnordered(const Filter& restriction, const ResultField& field) {
  if (!IsOrder(restriction)) return Status::Ok();
  return InvalidArgument(
             "filter: `" + restriction.field + "` is a name with a version, which has no order",
             Reason::kBadFilter)
      .WithHint("write = with a * at the end, for example `" + restriction.field + " " +
                std::string(field.example) + "`");
}

// Returns a hint for a word after `flag` that is similar to no known flag.
std::string FlagHint(const std::string& word) {
  for (const auto& [doubt, filter] : kOtherDoubts) {
    if (doubt == word) return word + " is found by `" + std::string(filter) + "`";
  }
  return "`flag : WORD` also finds flags that this program does not know";
}

Status CheckWord(const Filter& restriction, const std::vector<std::string>& words) {
  const std::string& value = restriction.value;
  const bool pattern = value.starts_with('*') || value.ends_with('*');
  if (words.empty() || !IsEquality(restriction) || pattern) return Status::Ok();
  if (std::find(words.begin(), words.end(), value) != words.end()) return Status::Ok();
  const std::string closest = ClosestName(value, words);
  Status error = BadValue(restriction, "one of " + Join(words));
  if (!closest.empty()) return error.WithHint("did you mean `" + closest + "`?");
  return restriction.field == "flag" ? error.WithHint(FlagHint(value)) : error;
}

Status CheckTyped(Filter& restriction, const ResultField& field, WallTime now) {
  const bool has = restriction.comparator == Comparator::kHas;
  if (has && restriction.value == "*") return Status::Ok();
  switch (field.type) {
    case FieldType::kText:
    case FieldType::kTexts:
      return CheckWord(restriction, field.words);
    case FieldType::kVersion:
      return CheckVersion(restriction);
    case FieldType::kNameWithVersion:
      return CheckUnordered(restriction, field);
    case FieldType::kMap:
      return CheckSetting(restriction);
    default:
      break;
  }
  if (has) {
    return InvalidArgument(
        "filter: `" + restriction.field + "` is not text; only * is possible after `:`",
        Reason::kBadFilter);
  }
  if (field.type == FieldType::kTime) return CheckTime(restriction, now);
  return field.type == FieldType::kNumber ? CheckNumber(restriction) : CheckBoolean(restriction);
}

Status Check(Filter& filter, WallTime now) {
  for (Filter& child : filter.children) ASSAY_RETURN_IF_ERROR(Check(child, now));
  if (filter.kind != Filter::Kind::kRestriction) return Status::Ok();
  if (const auto named = FilterableField(filter.field)) {
    return CheckTyped(filter, *named->field, now);
  }
  return UnknownField(filter.field, DecimalNumber(filter.value) || NumberOfSize(filter.value));
}

void Require(Filter& filter, const std::string& field, const std::string& value) {
  Filter restriction;
  restriction.kind = Filter::Kind::kRestriction;
  restriction.field = field;
  restriction.value = value;
  Filter both;
  both.kind = Filter::Kind::kAnd;
  both.children.push_back(std::move(filter));
  both.children.push_back(std::move(restriction));
  filter = std::move(both);
}

bool MentionsAny(const Filter& filter, std::initializer_list<std::string_view> fields) {
  return std::any_of(fields.begin(), fields.end(),
                     [&](std::string_view field) { return Mentions(filter, field); });
}

}  // namespace

std::optional<NamedField> FilterableField(std::string_view name) {
  if (const ResultField* const field = FindResultField(name)) {
    if (field->example.empty() || field->type == FieldType::kMap) return std::nullopt;
    return NamedField{field, ""};
  }
  if (name.starts_with(kParameters)) {
    return NamedField{FindResultField("parameters"), std::string(name.substr(kParameters.size()))};
  }
  if (name.starts_with(kLabel) && name.size() > kLabel.size()) {
    return NamedField{FindResultField("label"), std::string(name.substr(kLabel.size()))};
  }
  if (!name.starts_with(kNcclVariables)) return std::nullopt;
  const std::string variable = Upper(name.substr(kNcclVariables.size()));
  if (variable != kNcclHostId && FindNcclVariable(variable) == nullptr) return std::nullopt;
  return NamedField{FindResultField("nccl_variables"), variable};
}

Result<NamedField> FindFilterableField(std::string_view where, std::string_view name) {
  if (std::optional<NamedField> named = FilterableField(name)) return *std::move(named);
  return UnknownField(std::string(name), /*number=*/false, std::string(where));
}

Result<WallTime> ParseTimeAt(std::string_view text, WallTime now) {
  constexpr std::chrono::hours kDay{24};
  if (text == "today" || text == "yesterday") {
    const WallTime today = std::chrono::floor<std::chrono::days>(now);
    return text == "today" ? today : today - kDay;
  }
  if (!text.starts_with('-')) return ParseTime(text);
  ASSAY_ASSIGN_OR_RETURN(const Duration ago, ParseDuration(text.substr(1)));
  // If the time is before 1970, use 1970 instead. The filter matches the same results, because
  // there are none before 1970.
  return ago > now.time_since_epoch() ? WallTime{} : now - ago;
}

Result<Filter> ParseResultFilter(std::string_view text) {
  return ParseResultFilter(text, Clock::Real().WallNow());
}

Result<Filter> ParseResultFilter(std::string_view text, WallTime now) {
  ASSAY_ASSIGN_OR_RETURN(Filter filter, ParseFilter(text));
  ASSAY_RETURN_IF_ERROR(Check(filter, now));
  const bool all_metrics = MentionsAny(filter, {"metric", "primary"});
  // The results of a campaign (a set of related benchmark runs) are either all imported or all
  // measured. A filter that names a campaign can therefore include imported results without mixing
  // the two kinds.
  const bool any_origin =
      MentionsAny(filter, {"imported", "imported_from", "campaign", "campaign_id"});
  if (!Mentions(filter, "simulated")) Require(filter, "simulated", "false");
  if (!any_origin) Require(filter, "imported", "false");
  if (!all_metrics) Require(filter, "primary", "true");
  return filter;
}

Result<bool> MatchesResult(const Filter& filter, const v1::StoredResult& result) {
  return Matches(filter, [&](const std::string& name) -> Result<std::vector<std::string>> {
    const std::optional<NamedField> named = FilterableField(name);
    if (!named) return UnknownField(name, /*number=*/false);
    FieldValue value = named->field->Value(result);
    if (named->field->type == FieldType::kMap) {
      const auto found = value.is_null() ? value.end() : value.find(named->key);
      return found == value.end() ? std::vector<std::string>() : FilterValues(*found);
    }
    if (named->field->type == FieldType::kTime && !value.is_null()) {
      ASSAY_ASSIGN_OR_RETURN(const WallTime time, ParseTime(value.get<std::string>()));
      value = SecondsSince1970(time);
    }
    return FilterValues(value);
  });
}

}  // namespace assay::schema
