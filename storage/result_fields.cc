#include "storage/result_fields.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

#include "model/nccl_variables.h"
#include "model/parameter.h"
#include "common/units.h"
#include "wire/interval.h"
#include "wire/result_flags.h"
#include "storage/csv_columns.h"
#include "storage/timestamps.h"

namespace assay::storage {
namespace {

using Values = std::vector<std::string>;
using Record = ResultRecord;

Values Text(const std::string& text) { return text.empty() ? Values{} : Values{text}; }
Values Number(double number) { return {FilterNumber(number)}; }
Values Boolean(bool value) { return {value ? "true" : "false"}; }

Values List(const google::protobuf::RepeatedPtrField<std::string>& list) {
  return {list.begin(), list.end()};
}

Values Measured(const Record& record, double (v1::Measurement::*get)() const) {
  const auto& measurements = record.stored.case_result().measurements();
  return measurements.empty() ? Values{} : Number((measurements[0].*get)());
}

Values OfMeasurement(const Record& record, const std::string& (v1::Measurement::*get)() const) {
  const auto& measurements = record.stored.case_result().measurements();
  return measurements.empty() ? Values{} : Text((measurements[0].*get)());
}

Values OfMethod(const Record& record, const std::string& (v1::Method::*get)() const) {
  const auto& measurements = record.stored.case_result().measurements();
  return measurements.empty() ? Values{} : Text((measurements[0].method().*get)());
}

Values Uncertain(const Record& record) {
  const auto& measurements = record.stored.case_result().measurements();
  if (measurements.empty()) return {};
  const std::optional<double> uncertainty = schema::Uncertainty(measurements[0]);
  return uncertainty ? Number(*uncertainty) : Values{};
}

Values OfModel(const Record& record, double (v1::LinkModel::*get)() const) {
  const v1::Prediction& prediction = record.stored.case_result().prediction();
  return prediction.has_link_model() ? Number((prediction.link_model().*get)()) : Values{};
}

const v1::CaseResult& Case(const Record& record) { return record.stored.case_result(); }
const v1::Environment& Hardware(const Record& record) { return Case(record).environment(); }
const v1::SoftwareVersions& Software(const Record& record) { return Hardware(record).software(); }
const v1::Provenance& Origin(const Record& record) { return Case(record).provenance(); }

Values Nodes(const Record& record) {
  Values values = List(Origin(record).node_names());
  values.insert(values.end(), Origin(record).node_ids().begin(), Origin(record).node_ids().end());
  return values;
}

Status BadValue(const Filter& restriction, const std::string& expected) {
  return InvalidArgument("filter: `" + restriction.field + "` takes " + expected + ", not \"" +
                             restriction.value.substr(0, 80) + "\"",
                         "BAD_FILTER");
}

constexpr std::string_view kNcclPrefix = "nccl.";
// Beyond this, and closer to zero than its inverse, stores compare numbers no longer.
constexpr double kBeyondNumbers = 1e99;

// How the names of all NCCL's variables begin.
constexpr std::string_view kNcclNames = "NCCL_";

// By std::toupper or std::tolower.
std::string InCase(std::string_view text, int (*convert)(int)) {
  std::string converted(text);
  std::transform(converted.begin(), converted.end(), converted.begin(),
                 [&](unsigned char c) { return static_cast<char>(convert(c)); });
  return converted;
}

// Parameters are no fields of their own.
std::string AsParameter(std::string_view name) {
  return std::string(kParameterPrefix) + std::string(name.substr(0, 80));
}

// The field, as it is written, that was probably meant; empty if none is close. A name without
// a dot that is close to none is a parameter's; `number`: so is one that is compared with a number
// where the close field has text ("nodes = 2").
std::string ClosestField(const std::string& field, bool number) {
  // By what may be typed for it, in lower case as a filter's fields are: NCCL's variables
  // also without "nccl." or without "NCCL_".
  std::map<std::string, std::string> meant;
  const auto add = [&meant](std::string_view variable) {
    const std::string name = InCase(variable, std::tolower);
    const std::string written = std::string(kNcclPrefix) + std::string(variable);
    meant[name] = written;
    meant[std::string(kNcclPrefix) + name] = written;
    meant[std::string(kNcclPrefix) + name.substr(kNcclNames.size())] = written;
  };
  for (const NcclVariable& variable : NcclVariables()) add(variable.name);
  add(kNcclHostId);
  for (const ResultField& one : ResultFields()) meant[std::string(one.name)] = one.name;
  std::vector<std::string> typed;
  for (const auto& [name, written] : meant) typed.push_back(name);
  const std::string closest = ClosestName(field, typed);
  const bool of_text = std::any_of(
      ResultFields().begin(), ResultFields().end(),
      [&](const ResultField& one) { return one.name == closest && one.type == FieldType::kText; });
  if (!closest.empty() && !(number && of_text)) return meant.at(closest);
  const size_t dot = field.find('.');
  if (dot == std::string::npos) return AsParameter(field);
  const bool parameter =
      !ClosestName(field.substr(0, dot + 1), {std::string(kParameterPrefix)}).empty();
  if (parameter) return AsParameter(std::string_view(field).substr(dot + 1));
  return closest.empty() ? "" : meant.at(closest);
}

Status UnknownField(const std::string& field, bool number) {
  std::string what;
  if (field.starts_with(kNcclPrefix)) {
    what =
        "results record no variable `" +
        InCase(field.substr(kNcclPrefix.size(), 80), std::toupper) +
        "` of NCCL; after `nccl.` goes one that a campaign may set, for example nccl.NCCL_ALGO, or "
        "NCCL_HOSTID";
  } else {
    what = "results have no field `" + field.substr(0, 80) + "`; the fields are ";
    for (const ResultField& one : ResultFields()) what += std::string(one.name) + ", ";
    what += "parameters.NAME and nccl.NCCL_NAME";
  }
  const Status error = InvalidArgument("filter: " + what, "UNKNOWN_FIELD");
  const std::optional<std::string_view> exported = FieldOfCsvColumn(field);
  if (exported && exported->empty()) {
    return error.WithHint("`" + field + "` stands in the CSV of results, and no filter takes it");
  }
  const std::string closest = exported ? std::string(*exported) : ClosestField(field, number);
  return closest.empty() ? error : error.WithHint("did you mean `" + closest + "`?");
}

// A finite decimal number and nothing else.
std::optional<double> DecimalNumber(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool plain = text.find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (text.empty() || *end != '\0' || !plain || !std::isfinite(number)) return std::nullopt;
  return number;
}

// Any text that compares as a number, rewritten so that it always does.
Status CheckNumber(Filter& restriction) {
  const std::optional<double> number = DecimalNumber(restriction.value);
  if (!number) return BadValue(restriction, "a number");
  restriction.value = FilterNumber(*number);
  return Status::Ok();
}

bool IsEquality(const Filter& restriction) {
  return restriction.comparator == Comparator::kEqual ||
         restriction.comparator == Comparator::kNotEqual;
}

bool IsOrder(const Filter& restriction) {
  return !IsEquality(restriction) && restriction.comparator != Comparator::kHas;
}

// A size with a unit ("1MiB") as its number, in decimal.
std::optional<std::string> NumberOfSize(const std::string& text) {
  if (DecimalNumber(text)) return std::nullopt;
  const Result<int64_t> bytes = ParseBytes(text);
  return bytes.ok() ? std::optional(std::to_string(*bytes)) : std::nullopt;
}

// `restriction`, or the same of its field with another value: both for !=.
void AlsoFor(Filter& restriction, std::string value) {
  Filter either;
  either.kind =
      restriction.comparator == Comparator::kEqual ? Filter::Kind::kOr : Filter::Kind::kAnd;
  either.children.assign(2, restriction);
  either.children.back().value = std::move(value);
  restriction = std::move(either);
}

// Parameters and NCCL's variables are recorded as text: whole numbers in decimal, without
// units, or words.
Status CheckSetting(Filter& restriction) {
  if (restriction.comparator == Comparator::kHas) return Status::Ok();
  const std::optional<std::string> size = NumberOfSize(restriction.value);
  if (IsEquality(restriction)) {
    if (size) AlsoFor(restriction, *size);
    return Status::Ok();
  }
  restriction.numbers_only = true;
  const std::optional<double> number = DecimalNumber(restriction.value);
  if (size) {
    restriction.value = *size;
  } else if (!number || std::abs(*number) >= kBeyondNumbers) {
    return BadValue(restriction, "a number or a size after < <= > >=")
        .WithHint("write for example 4096, 0.5, 64KiB or 1MiB; words have no order, only = and !=");
  } else if (restriction.value.find_first_not_of("0123456789") != std::string::npos) {
    // Whole numbers stay as they are, for these compare exactly; "1.5" would be a version.
    restriction.value = FilterNumber(std::abs(*number) < 1 / kBeyondNumbers ? 0 : *number);
  }
  return Status::Ok();
}

Status CheckVersion(Filter& restriction) {
  if (!IsOrder(restriction)) return Status::Ok();
  restriction.numbers_only = true;
  const bool plain = restriction.value.find_first_not_of(".0123456789") == std::string::npos;
  if (plain && CompareNumbers(restriction.value, "0")) return Status::Ok();
  return BadValue(restriction, "a version in digits and dots after < <= > >=")
      .WithHint("write for example 580 or 580.95.05");
}

// For a word after `flag` that is close to none.
std::string FlagHint(const std::string& word) {
  for (const auto& [doubt, filter] : schema::kOtherDoubts) {
    if (doubt == word) return word + " is found by `" + std::string(filter) + "`";
  }
  return "`flag : WORD` also looks for words of newer agents and other importers";
}

Status CheckWord(const Filter& restriction, const std::vector<std::string>& words) {
  const std::string& value = restriction.value;
  const bool pattern = value.starts_with('*') || value.ends_with('*');
  if (words.empty() || !IsEquality(restriction) || pattern) return Status::Ok();
  if (std::find(words.begin(), words.end(), value) != words.end()) return Status::Ok();
  std::string known;
  for (const std::string& word : words) known += (known.empty() ? "" : ", ") + word;
  const std::string closest = ClosestName(value, words);
  Status error = BadValue(restriction, "one of " + known);
  if (!closest.empty()) return error.WithHint("did you mean `" + closest + "`?");
  return restriction.field == "flag" ? error.WithHint(FlagHint(value)) : error;
}

Status CheckUnordered(const Filter& restriction, std::string_view example) {
  if (!IsOrder(restriction)) return Status::Ok();
  return InvalidArgument(
             "filter: `" + restriction.field + "` is more than a version, so it has no order",
             "BAD_FILTER")
      .WithHint("write = with a * at the end, for example `" + restriction.field + " = " +
                std::string(example) + "`");
}

Status CheckTyped(Filter& restriction, const ResultField& field) {
  const FieldType type = field.type;
  if (restriction.comparator == Comparator::kHas && restriction.value == "*") return Status::Ok();
  if (type == FieldType::kText) return CheckWord(restriction, field.words);
  if (type == FieldType::kVersion) return CheckVersion(restriction);
  if (type == FieldType::kNameWithVersion) return CheckUnordered(restriction, field.example);
  if (restriction.comparator == Comparator::kHas) {
    return InvalidArgument(
        "filter: `" + restriction.field + "` is not text; `:` takes only * there", "BAD_FILTER");
  }
  if (restriction.field == "time") {
    const auto time = ParseTime(restriction.value);
    if (!time.ok()) return BadValue(restriction, "a time such as 2026-01-31T08:00:00Z");
    restriction.value = FilterNumber(SecondsSince1970(*time));
    return Status::Ok();
  }
  if (type == FieldType::kNumber) return CheckNumber(restriction);
  if (!IsEquality(restriction) || (restriction.value != "true" && restriction.value != "false")) {
    return BadValue(restriction, "= or != and true or false");
  }
  return Status::Ok();
}

Status Check(Filter& filter) {
  for (Filter& child : filter.children) ASSAY_RETURN_IF_ERROR(Check(child));
  if (filter.kind != Filter::Kind::kRestriction) return Status::Ok();
  if (filter.field.starts_with(kParameterPrefix)) return CheckSetting(filter);
  if (NcclVariableOf(filter.field)) return CheckSetting(filter);
  for (const ResultField& field : ResultFields()) {
    if (field.name == filter.field) return CheckTyped(filter, field);
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

std::vector<ResultField> MakeFields() {
  constexpr FieldType kText = FieldType::kText;
  constexpr FieldType kVersion = FieldType::kVersion;
  constexpr FieldType kNameWithVersion = FieldType::kNameWithVersion;
  constexpr FieldType kNumber = FieldType::kNumber;
  constexpr FieldType kBoolean = FieldType::kBoolean;
  using R = const Record&;
  return {
      {"benchmark", kText, [](R r) { return Text(Case(r).benchmark()); }},
      {"metric", kText, [](R r) { return OfMeasurement(r, &v1::Measurement::metric); }},
      {"unit", kText, [](R r) { return OfMeasurement(r, &v1::Measurement::unit); }},
      {"median", kNumber, [](R r) { return Measured(r, &v1::Measurement::median); }},
      {"mad", kNumber, [](R r) { return Measured(r, &v1::Measurement::mad); }},
      {"uncertainty", kNumber, Uncertain},
      {"stop_reason",
       kText,
       [](R r) { return OfMethod(r, &v1::Method::stop_reason); },
       {"confidence", "noise_stable", "time_budget", "max_samples"}},
      {"outcome",
       kText,
       [](R r) { return Text(OutcomeName(Case(r).outcome())); },
       {"ok", "failed", "unsupported"}},
      {"primary", kBoolean, [](R r) { return Boolean(r.primary); }},
      {"simulated", kBoolean, [](R r) { return Boolean(Origin(r).simulated()); }},
      {"imported", kBoolean, [](R r) { return Boolean(!Origin(r).imported_from().empty()); }},
      {"imported_from", kText, [](R r) { return Text(Origin(r).imported_from()); }},
      {"campaign", kText,
       [](R r) {
         return Values{r.stored.campaign_name(), r.stored.campaign_id()};
       }},
      {"job", kText, [](R r) { return Text(r.stored.job_id()); }},
      {"repetition", kNumber, [](R r) { return Number(r.stored.repetition()); }},
      {"series", kText, [](R r) { return Text(r.stored.series_id()); }},
      {"lineage", kText, [](R r) { return Text(r.stored.lineage_id()); }},
      {"cache",
       kText,
       [](R r) { return OfMethod(r, &v1::Method::cache); },
       {"cold", "hot", "none"}},
      {"fill", kText, [](R r) { return OfMethod(r, &v1::Method::fill); }},
      {"gpu.model", kText, [](R r) { return Text(Hardware(r).gpu_model()); }},
      {"gpu.form_factor", kText, [](R r) { return Text(Hardware(r).gpu_form_factor()); }},
      {"gpu.mig_profile", kText, [](R r) { return Text(Hardware(r).mig_profile()); }},
      {"gpu.count", kNumber, [](R r) { return Number(Hardware(r).gpu_count()); }},
      {"gpu.uuid", kText, [](R r) { return List(Origin(r).gpu_uuids()); }},
      {"topology", kText, [](R r) { return Text(Hardware(r).topology()); }},
      {"cpu.model", kText, [](R r) { return Text(Hardware(r).cpu_model()); }},
      {"driver", kVersion, [](R r) { return Text(Hardware(r).driver_version()); }},
      {"cuda", kVersion, [](R r) { return Text(Software(r).cuda_runtime()); }},
      {"cublas", kVersion, [](R r) { return Text(Software(r).cublas()); }},
      {"nccl", kVersion, [](R r) { return Text(Software(r).nccl()); }},
      {"blas",
       kNameWithVersion,
       [](R r) { return Text(Software(r).blas()); },
       {},
       "\"OpenBLAS 0.3.21*\""},
      {"node", kText, Nodes},
      {"provider", kText, [](R r) { return Text(Origin(r).provider()); }},
      {"region", kText, [](R r) { return Text(Origin(r).region()); }},
      {"kernel", kNameWithVersion, [](R r) { return Text(Origin(r).kernel()); }, {}, "6.8*"},
      {"agent_version", kVersion, [](R r) { return Text(Origin(r).agent_version()); }},
      {"price", kNumber,
       [](R r) {
         return Origin(r).has_price_per_hour() ? Number(Origin(r).price_per_hour()) : Values{};
       }},
      {"efficiency", kNumber,
       [](R r) {
         const v1::Prediction& prediction = Case(r).prediction();
         return prediction.has_efficiency_spec() ? Number(prediction.efficiency_spec()) : Values{};
       }},
      {"model_seconds", kNumber, [](R r) { return OfModel(r, &v1::LinkModel::predicted_seconds); }},
      {"model_latency_seconds", kNumber,
       [](R r) { return OfModel(r, &v1::LinkModel::latency_seconds); }},
      {"model_bandwidth", kNumber, [](R r) { return OfModel(r, &v1::LinkModel::bandwidth); }},
      {"model_knee_bytes", kNumber, [](R r) { return OfModel(r, &v1::LinkModel::knee_bytes); }},
      {"model_error", kNumber, [](R r) { return OfModel(r, &v1::LinkModel::error); }},
      {"model_sizes", kNumber,
       [](R r) {
         const v1::Prediction& prediction = Case(r).prediction();
         return prediction.has_link_model() ? Number(prediction.link_model().points()) : Values{};
       }},
      {"regime",
       kText,
       [](R r) { return Text(Case(r).prediction().regime()); },
       {"launch", "memory", "cache", "compute", "link"}},
      {"failure", kText, [](R r) { return Text(Case(r).failure().reason()); }},
      {"flag",
       kText,
       [](R r) { return List(Case(r).conditions().flags()); },
       {schema::kResultFlags.begin(), schema::kResultFlags.end()}},
      {"time", kNumber,
       [](R r) {
         return Case(r).has_end_time() ? Number(SecondsSince1970(FromTimestamp(Case(r).end_time())))
                                       : Values{};
       }},
  };
}

}  // namespace

const std::vector<ResultField>& ResultFields() {
  static const std::vector<ResultField> fields = MakeFields();
  return fields;
}

std::optional<std::string> NcclVariableOf(std::string_view field) {
  if (!field.starts_with(kNcclPrefix)) return std::nullopt;
  std::string name = InCase(field.substr(kNcclPrefix.size()), std::toupper);
  const bool recorded = name == kNcclHostId || FindNcclVariable(name) != nullptr;
  return recorded ? std::optional(std::move(name)) : std::nullopt;
}

Result<Filter> ParseResultFilter(std::string_view text) {
  ASSAY_ASSIGN_OR_RETURN(Filter filter, ParseFilter(text));
  ASSAY_RETURN_IF_ERROR(Check(filter));
  const bool all_metrics = Mentions(filter, "metric") || Mentions(filter, "primary");
  if (!Mentions(filter, "simulated")) Require(filter, "simulated", "false");
  // A campaign is imported as a whole or not at all, so that naming one mixes nothing.
  const bool any_origin = Mentions(filter, "imported") || Mentions(filter, "imported_from") ||
                          Mentions(filter, "campaign");
  if (!any_origin) Require(filter, "imported", "false");
  if (!all_metrics) Require(filter, "primary", "true");
  return filter;
}

Result<bool> MatchesResult(const Filter& filter, const ResultRecord& record) {
  return Matches(filter, [&](const std::string& name) -> Result<Values> {
    if (name.starts_with(kParameterPrefix)) {
      const auto& parameters = Case(record).parameters();
      const auto it = parameters.find(name.substr(kParameterPrefix.size()));
      return it == parameters.end() ? Values{} : Values{it->second};
    }
    if (const std::optional<std::string> variable = NcclVariableOf(name)) {
      const auto& settings = Hardware(record).nccl();
      const auto it = settings.find(*variable);
      return it == settings.end() ? Values{} : Values{it->second};
    }
    for (const ResultField& field : ResultFields()) {
      if (field.name == name) return field.values(record);
    }
    return UnknownField(name, /*number=*/false);
  });
}

}  // namespace assay::storage
