#include "storage/result_fields.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "common/nccl_variables.h"
#include "common/parameter.h"
#include "schema/interval.h"
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

std::string InUpperCase(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

Status UnknownVariable(std::string_view field) {
  const std::string name = InUpperCase(field.substr(kNcclPrefix.size()));
  std::vector<std::string> names;
  for (const NcclVariable& variable : NcclVariables()) names.emplace_back(variable.name);
  const std::string closest = ClosestName(name, names);
  Status error = InvalidArgument(
      "filter: results record no variable `" + name.substr(0, 80) +
          "` of NCCL; after `nccl.` goes one that a campaign may set, for example nccl.NCCL_ALGO",
      "UNKNOWN_FIELD");
  return closest.empty() ? error : error.WithHint("did you mean `nccl." + closest + "`?");
}

Status UnknownField(const std::string& field) {
  if (field.starts_with(kNcclPrefix)) return UnknownVariable(field);
  std::vector<std::string> names;
  std::string known;
  for (const ResultField& one : ResultFields()) {
    names.emplace_back(one.name);
    known += std::string(one.name) + ", ";
  }
  const std::string closest = ClosestName(field, names);
  Status error =
      InvalidArgument("filter: results have no field `" + field.substr(0, 80) +
                          "`; the fields are " + known + "parameters.NAME and nccl.NCCL_NAME",
                      "UNKNOWN_FIELD");
  return closest.empty() ? error : error.WithHint("did you mean `" + closest + "`?");
}

// Any text that compares as a number, rewritten so that it always does.
Status CheckNumber(Filter& restriction) {
  char* end = nullptr;
  const double number = std::strtod(restriction.value.c_str(), &end);
  const bool plain = restriction.value.find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (restriction.value.empty() || *end != '\0' || !plain || !std::isfinite(number)) {
    return BadValue(restriction, "a number");
  }
  restriction.value = FilterNumber(number);
  return Status::Ok();
}

bool IsEquality(const Filter& restriction) {
  return restriction.comparator == Comparator::kEqual ||
         restriction.comparator == Comparator::kNotEqual;
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
  return closest.empty() ? error : error.WithHint("did you mean `" + closest + "`?");
}

Status CheckTyped(Filter& restriction, const ResultField& field) {
  const FieldType type = field.type;
  if (restriction.comparator == Comparator::kHas && restriction.value == "*") return Status::Ok();
  if (type == FieldType::kText) return CheckWord(restriction, field.words);
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
  if (filter.field.starts_with(kParameterPrefix)) return Status::Ok();
  if (NcclVariableOf(filter.field)) return Status::Ok();
  for (const ResultField& field : ResultFields()) {
    if (field.name == filter.field) return CheckTyped(filter, field);
  }
  return UnknownField(filter.field);
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
      {"driver", kText, [](R r) { return Text(Hardware(r).driver_version()); }},
      {"cuda", kText, [](R r) { return Text(Software(r).cuda_runtime()); }},
      {"cublas", kText, [](R r) { return Text(Software(r).cublas()); }},
      {"nccl", kText, [](R r) { return Text(Software(r).nccl()); }},
      {"blas", kText, [](R r) { return Text(Software(r).blas()); }},
      {"node", kText, Nodes},
      {"provider", kText, [](R r) { return Text(Origin(r).provider()); }},
      {"region", kText, [](R r) { return Text(Origin(r).region()); }},
      {"kernel", kText, [](R r) { return Text(Origin(r).kernel()); }},
      {"agent_version", kText, [](R r) { return Text(Origin(r).agent_version()); }},
      {"price", kNumber,
       [](R r) {
         return Origin(r).has_price_per_hour() ? Number(Origin(r).price_per_hour()) : Values{};
       }},
      {"efficiency", kNumber,
       [](R r) {
         const v1::Prediction& prediction = Case(r).prediction();
         return prediction.has_efficiency_spec() ? Number(prediction.efficiency_spec()) : Values{};
       }},
      {"regime",
       kText,
       [](R r) { return Text(Case(r).prediction().regime()); },
       {"launch", "memory", "cache", "compute", "link"}},
      {"failure", kText, [](R r) { return Text(Case(r).failure().reason()); }},
      {"flag", kText, [](R r) { return List(Case(r).conditions().flags()); }},
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
  std::string name = InUpperCase(field.substr(kNcclPrefix.size()));
  return FindNcclVariable(name) == nullptr ? std::nullopt : std::optional(std::move(name));
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
    return UnknownField(name);
  });
}

}  // namespace assay::storage
