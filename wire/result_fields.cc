#include "wire/result_fields.h"

#include <algorithm>
#include <optional>

#include "wire/interval.h"
#include "wire/reasons.h"
#include "wire/result_flags.h"

namespace assay::schema {
namespace {

using R = const v1::StoredResult&;

const v1::Measurement& Measured(R r) {
  const auto& measurements = r.case_result().measurements();
  return measurements.empty() ? v1::Measurement::default_instance() : measurements[0];
}

FieldValue NumberIf(bool known, double number) {
  return known ? NumberOrNull(number) : FieldValue();
}

FieldValue FailureReason(R r) { return TextOrNull(ReasonWord(r.case_result().failure().reason())); }

FieldValue DirectionWord(R r) {
  const std::string word = EnumWord(*v1::Direction_descriptor(), Measured(r).direction());
  return TextOrNull(word.substr(0, word.find('_')));  // "higher" of "higher_is_better".
}

FieldValue CiLow(R r) { return NumberIf(HasInterval(Measured(r)), Measured(r).ci_low()); }
FieldValue CiHigh(R r) { return NumberIf(HasInterval(Measured(r)), Measured(r).ci_high()); }

FieldValue UncertaintyOf(R r) {
  const std::optional<double> value = Uncertainty(Measured(r));
  return NumberIf(value.has_value(), value.value_or(0));
}

FieldValue HostSeconds(R r) {
  const double seconds = Measured(r).method().host_seconds();
  return NumberIf(seconds > 0, seconds);
}

FieldValue Channels(R r) {
  const int channels = r.case_result().collective().channels();
  return channels > 0 ? FieldValue(channels) : FieldValue();
}

FieldValue IsImported(R r) { return !r.case_result().provenance().imported_from().empty(); }

FieldValue RankTimes(R r) {
  FieldValue ranks;
  for (const v1::RankTimes& rank : r.case_result().rank_times()) {
    FieldValue one = {{"rank", rank.rank()},
                      {"node", rank.node_name()},
                      {"gpu_index", rank.gpu_index()},
                      {"median", rank.median()},
                      {"p05", rank.p05()},
                      {"p95", rank.p95()},
                      {"n", rank.n()}};
    if (rank.has_wait()) one["wait"] = rank.wait();
    ranks.push_back(std::move(one));
  }
  return ranks;
}

std::vector<std::string> FlagWords() { return {kResultFlags.begin(), kResultFlags.end()}; }

ResultField Computed(FieldValue (*read)(R), ResultField field) {
  field.read = read;
  return field;
}

bool InCsv(const ResultField& field) {
  return field.type != FieldType::kNumbers && field.type != FieldType::kObjects;
}

}  // namespace

const std::vector<ResultField>& ResultFields() {
  using enum FieldType;
  using enum StoredIn;
#define CASE_FIELD(name, type, unit, description, path, ...) \
  {name, type, unit, description, "case_result." path __VA_OPT__(, ) __VA_ARGS__},
#define STORED_FIELD(name, type, unit, description, path, ...) \
  {name, type, unit, description, path __VA_OPT__(, ) __VA_ARGS__},
#define COMPUTED_FIELD(name, type, unit, description, read, ...) \
  Computed(read, {name, type, unit, description, "" __VA_OPT__(, ) __VA_ARGS__}),
  static const std::vector<ResultField> fields = {
#include "wire/result_fields.inc"
  };
#undef CASE_FIELD
#undef STORED_FIELD
#undef COMPUTED_FIELD
  return fields;
}

const ResultField* FindResultField(std::string_view name) {
  const auto found = std::find_if(ResultFields().begin(), ResultFields().end(),
                                  [&](const ResultField& field) { return field.name == name; });
  return found == ResultFields().end() ? nullptr : &*found;
}

std::string OutcomeName(v1::CaseOutcome outcome) {
  return EnumWord(*v1::CaseOutcome_descriptor(), outcome);
}

std::vector<v1::StoredResult> SplitByMetric(const v1::CaseResult& result) {
  v1::StoredResult bare;
  *bare.mutable_case_result() = result;
  bare.mutable_case_result()->clear_measurements();
  // Create the environment and the provenance even if the result has none. Otherwise, fields that
  // must always have a value, such as gpu.count and simulated, would be null.
  bare.mutable_case_result()->mutable_environment();
  bare.mutable_case_result()->mutable_provenance();
  std::vector<v1::StoredResult> results(std::max(result.measurements_size(), 1), bare);
  results[0].set_primary(true);
  for (int i = 0; i < result.measurements_size(); ++i) {
    *results[static_cast<size_t>(i)].mutable_case_result()->add_measurements() =
        result.measurements(i);
  }
  return results;
}

std::string ResultJson(const v1::StoredResult& result) {
  FieldValue json = FieldValue::object();
  for (const ResultField& field : ResultFields()) AddNested(json, field.name, field.Value(result));
  return json.dump(-1, ' ', false, FieldValue::error_handler_t::replace);
}

std::vector<std::string> ResultCsvColumns() {
  std::vector<std::string> columns;
  for (const ResultField& field : ResultFields()) {
    if (InCsv(field)) columns.emplace_back(field.name);
  }
  return columns;
}

std::vector<std::string> ResultCsvTexts(const v1::StoredResult& result) {
  std::vector<std::string> texts;
  for (const ResultField& field : ResultFields()) {
    if (InCsv(field)) texts.push_back(FieldText(field.Value(result)));
  }
  return texts;
}

}  // namespace assay::schema
