#include "storage/postgres/analysis_rows.h"

#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "common/text.h"
#include "storage/store_rules.h"
#include "wire/timestamps.h"

namespace assay::storage {
namespace {

using nlohmann::json;

// Absent values are null.
json TextOrNull(const std::string& text) { return text.empty() ? json() : json(text); }
json TimeOrNull(const google::protobuf::Timestamp& time) {
  return TextOrNull(schema::TimeText(time));
}
// For columns that must not be null. 0 is 1970.
json Time(const google::protobuf::Timestamp& time) {
  const std::string text = schema::TimeText(time);
  return text.empty() ? "epoch" : text;
}
json TextsOrNull(const google::protobuf::RepeatedPtrField<std::string>& texts) {
  return texts.empty() ? json() : json(std::vector<std::string>(texts.begin(), texts.end()));
}
template <typename Enum>
json WordOrNull(Enum value) {
  return TextOrNull(WordOf(value));
}

std::string Content(const google::protobuf::MessageLite& message) {
  return HexLiteral(DeterministicBytes(message));
}

// Returns the columns that tables of cases share.
json CaseRow(const v1::CaseIdentity& identity) {
  json parameters = json::object();
  for (const auto& [name, value] : identity.parameters()) parameters[name] = value;
  json direction;
  if (identity.direction() == v1::DIRECTION_HIGHER_IS_BETTER) direction = "higher";
  if (identity.direction() == v1::DIRECTION_LOWER_IS_BETTER) direction = "lower";
  return {{"lineage_id", identity.lineage_id()},
          {"benchmark", TextOrNull(identity.benchmark())},
          {"benchmark_version", identity.benchmark_version()},
          {"parameters", std::move(parameters)},
          {"metric", TextOrNull(identity.metric())},
          {"unit", TextOrNull(identity.unit())},
          {"direction", std::move(direction)},
          {"gpu_model", TextOrNull(identity.hardware().gpu_model())},
          {"simulated", identity.simulated()}};
}

json NumberOrNull(const std::optional<double>& number) { return number ? json(*number) : json(); }

bool IsGraph(const v1::CaseIdentity& identity) {
  const auto launch = identity.parameters().find("launch");
  return launch != identity.parameters().end() && launch->second == "graph";
}

// Returns what makes a case differ from others with the same parameters and GPU model, in words.
std::string ConditionsOf(const v1::CaseIdentity& identity, bool throttled) {
  const v1::Environment& hardware = identity.hardware();
  std::vector<std::string> words;
  if (throttled) words.push_back("throttled");
  if (identity.cache() == "hot") words.push_back("hot cache");
  if (!identity.fill().empty() && identity.fill() != "random") words.push_back(identity.fill());
  if (IsGraph(identity)) words.push_back("graph launches");
  if (!hardware.mig_profile().empty()) words.push_back("MIG " + hardware.mig_profile());
  if (!hardware.gpu_form_factor().empty()) words.push_back(hardware.gpu_form_factor());
  if (hardware.gpu_count() > 1) {
    words.push_back(Counted(hardware.gpu_count(), "GPU") + " " + hardware.topology());
  }
  if (hardware.node_count() > 1) words.push_back(Counted(hardware.node_count(), "node"));
  if (hardware.has_power_limit_watts()) {
    words.push_back(std::to_string(std::lround(hardware.power_limit_watts())) + " W");
  }
  if (hardware.has_ecc_enabled() && !hardware.ecc_enabled()) words.push_back("ECC off");
  if (hardware.clocks_locked()) words.push_back("locked clocks");
  if (hardware.gpu_count() == 0) words.push_back(hardware.cpu_model());
  const std::map<std::string, std::string> nccl(hardware.nccl().begin(), hardware.nccl().end());
  for (const auto& [name, value] : nccl) words.push_back(name + "=" + value);
  return Join(words, ", ");
}

// Returns the columns that summaries share.
json SummaryRow(const v1::CaseIdentity& identity, bool throttled) {
  json row = CaseRow(identity);
  const bool standard = !throttled && identity.cache() != "hot" && !IsGraph(identity) &&
                        (identity.fill().empty() || identity.fill() == "random");
  row.update({{"throttled", throttled},
              {"standard", standard},
              {"conditions", TextOrNull(ConditionsOf(identity, throttled))},
              {"gpu_mig_profile", TextOrNull(identity.hardware().mig_profile())},
              {"gpu_count", identity.hardware().gpu_count()}});
  return row;
}

}  // namespace

json RowOf(const v1::Regression& regression) {
  json row = CaseRow(regression.case_());
  const v1::HistoryStep& step = regression.step();
  row.update({{"regression_id", regression.regression_id()},
              {"state", WordOrNull(regression.state())},
              {"scope", WordOrNull(regression.scope())},
              {"incident_id", TextOrNull(regression.incident_id())},
              {"node", TextsOrNull(regression.place().node_names())},
              {"gpu_uuid", TextsOrNull(regression.place().gpu_uuids())},
              {"ratio", step.ratio()},
              {"median_before", step.median_before()},
              {"median_after", step.median_after()},
              {"driver_before", TextOrNull(step.driver_before())},
              {"driver_after", TextOrNull(step.driver_after())},
              {"agent_version_before", TextOrNull(regression.agent_version_before())},
              {"agent_version_after", TextOrNull(regression.agent_version_after())},
              {"last_good_time", TimeOrNull(regression.last_good_time())},
              {"step_time", TimeOrNull(step.time())},
              {"detected_time", Time(regression.detected_time())},
              {"confirmed_time", TimeOrNull(regression.confirmed_time())},
              {"resolved_time", TimeOrNull(regression.resolved_time())},
              {"acknowledged_by", TextOrNull(regression.acknowledged_by())},
              {"acknowledge_note", TextOrNull(regression.acknowledge_note())},
              {"false_alarm", regression.false_alarm()},
              {"content", Content(regression)}});
  return row;
}

json RowOf(const v1::Incident& incident) {
  return {{"incident_id", incident.incident_id()},
          {"state", WordOrNull(incident.state())},
          {"scope", WordOrNull(incident.scope())},
          {"cause", WordOrNull(incident.cause())},
          {"cause_from", TextOrNull(incident.from())},
          {"cause_to", TextOrNull(incident.to())},
          {"simulated", incident.simulated()},
          {"node", TextsOrNull(incident.place().node_names())},
          {"gpu_uuid", TextsOrNull(incident.place().gpu_uuids())},
          {"start_time", Time(incident.start_time())},
          {"last_good_time", TimeOrNull(incident.last_good_time())},
          {"regression_count", incident.regression_count()},
          {"place_count", incident.place_count()},
          {"case_count", incident.case_count()},
          {"worst_ratio", incident.worst_ratio()},
          {"content", Content(incident)}};
}

json RowOf(const v1::Outlier& outlier) {
  const v1::OutlierCase& one = outlier.cases(0);
  json row = CaseRow(one.case_());
  row.update({{"kind", WordOrNull(outlier.kind())},
              {"driver", TextOrNull(one.driver_version())},
              {"simulated", outlier.simulated()},
              {"node", TextsOrNull(outlier.place().node_names())},
              {"gpu_uuid", TextsOrNull(outlier.place().gpu_uuids())},
              {"z", one.z()},
              {"ratio", one.ratio()},
              {"rank", one.rank()},
              {"place_count", one.place_count()},
              {"median", one.median()},
              {"peers_median", one.peers_median()},
              {"power_limited", one.power_limited()},
              {"end_time", TimeOrNull(one.end_time())},
              {"result_id", TextOrNull(one.result_id())},
              {"content", Content(outlier)}});
  return row;
}

json RowOf(const Findings::DriverMedian& median) {
  json row = SummaryRow(median.identity, median.throttled);
  row.update({{"driver", median.driver},
              {"median", median.median},
              {"noise", NumberOrNull(median.noise)},
              {"noise_floor", NumberOrNull(median.noise_floor)},
              {"efficiency_spec", NumberOrNull(median.efficiency_spec)},
              {"runs", median.runs},
              {"places", median.places},
              {"oldest_time", TimeOrNull(schema::ToTimestamp(median.oldest))},
              {"newest_time", TimeOrNull(schema::ToTimestamp(median.newest))}});
  return row;
}

json RowOf(const Findings::DriverChange& change) {
  const v1::CaseComparison& compared = change.comparison;
  json row = SummaryRow(compared.case_(), change.throttled);
  row.update(
      {{"driver_before", change.driver_before},
       {"driver", change.driver},
       {"verdict", WordOrNull(compared.verdict())},
       {"ratio", compared.ratio()},
       {"ratio_low", compared.has_ratio_low() ? json(compared.ratio_low()) : json()},
       {"ratio_high", compared.has_ratio_high() ? json(compared.ratio_high()) : json()},
       {"p_value", change.p_value},
       {"median_before", compared.median_a()},
       {"median", compared.median_b()},
       {"places", compared.common_places() > 0 ? compared.common_places() : compared.places_b()},
       {"runs_before", compared.runs_a()},
       {"runs", compared.runs_b()},
       {"missing", WordOrNull(compared.missing())},
       {"missing_count", compared.missing_count()},
       {"change_time", TimeOrNull(schema::ToTimestamp(change.first))}});
  return row;
}

json RowOf(const Findings::CaseCost& cost) {
  json row = SummaryRow(cost.identity, cost.throttled);
  row.update({{"provider", cost.provider},
              {"dollars_per_hour", cost.dollars_per_hour},
              {"median", cost.median},
              {"runs", cost.runs},
              {"places", cost.places},
              {"newest_time", TimeOrNull(schema::ToTimestamp(cost.newest))}});
  return row;
}

json RowOf(const Findings::NodeFlag& flag) {
  return {{"lineage_id", flag.identity.lineage_id()},
          {"node_name", flag.node_name},
          {"flag", flag.flag},
          {"gpu_model", TextOrNull(flag.identity.hardware().gpu_model())},
          {"simulated", flag.identity.simulated()},
          {"flagged_runs", flag.flagged_runs},
          {"runs", flag.runs},
          {"newest_time", TimeOrNull(schema::ToTimestamp(flag.newest))}};
}

json RowOf(const v1::Baseline& baseline) {
  v1::Baseline bare = baseline;
  bare.clear_cases();
  return {{"name", baseline.name()},
          {"filter", TextOrNull(baseline.filter())},
          {"create_time", TimeOrNull(baseline.create_time())},
          {"created_by", TextOrNull(baseline.created_by())},
          {"case_count", baseline.case_count()},
          {"run_count", baseline.run_count()},
          {"content", Content(bare)}};
}

json RowOf(const v1::Baseline& baseline, int position) {
  const v1::BaselineCase& one = baseline.cases(position);
  json row = CaseRow(one.case_());
  row.update({{"name", baseline.name()},
              {"position", position},
              {"median", one.median()},
              {"runs", one.runs()},
              {"places", one.places()},
              {"content", Content(one)}});
  return row;
}

json RowOf(const v1::Annotation& annotation) {
  return {{"annotation_id", annotation.annotation_id()},
          {"time", Time(annotation.time())},
          {"text", TextOrNull(annotation.text())},
          {"node_name", TextOrNull(annotation.node_name())},
          {"created_by", TextOrNull(annotation.created_by())},
          {"content", Content(annotation)}};
}

Status InsertRows(Transaction& transaction, const std::string& table, const std::string& key,
                  const Rows& rows) {
  if (rows.empty()) return Status::Ok();
  std::string columns, changes;
  for (const auto& [column, value] : rows.begin()->second.items()) {
    const std::string name = '"' + column + '"';
    columns += (columns.empty() ? "" : ", ") + name;
    changes += (changes.empty() ? "" : ", ") + name + " = excluded." + name;
  }
  json array = json::array();
  for (const auto& [unused, row] : rows) array.push_back(row);
  ASSAY_ASSIGN_OR_RETURN(const std::string text, StorableJson(array));
  transaction.exec_params(
      "INSERT INTO " + table + " (" + columns + ") SELECT " + columns +
          " FROM json_populate_recordset(NULL::" + table + ", $1)" +
          (key.empty() ? "" : " ON CONFLICT (" + key + ") DO UPDATE SET " + changes),
      text);
  return Status::Ok();
}

void LockFindings(Transaction& transaction) {
  transaction.exec("SELECT FROM judge_state FOR UPDATE");
}

std::string TimeOfMicroseconds(const std::string& microseconds) {
  return "'epoch'::timestamptz + (" + microseconds + ")::bigint * interval '1 microsecond'";
}

int64_t MicrosecondsOf(WallTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace assay::storage
