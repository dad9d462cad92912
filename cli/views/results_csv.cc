#include <algorithm>
#include <string_view>
#include <utility>

#include "cli/campaign_file/field_reader.h"
#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/result_marks.h"
#include "cli/views/result_text.h"
#include "cli/views/results_view.h"
#include "wire/interval.h"

namespace assay::cli {
namespace {

using Fields = std::vector<std::pair<std::string_view, std::string>>;

std::string Bool(bool value) { return value ? "true" : "false"; }

template <typename Repeated>
std::string Semicolons(const Repeated& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ";") + value;
  return text;
}

std::string Outcome(v1::CaseOutcome outcome) {
  switch (outcome) {
    case v1::CASE_OUTCOME_OK:
      return "ok";
    case v1::CASE_OUTCOME_FAILED:
      return "failed";
    case v1::CASE_OUTCOME_UNSUPPORTED:
      return "unsupported";
    default:
      return "";
  }
}

void AddIdentity(const v1::StoredResult& result, Fields& fields) {
  const v1::CaseResult& run = result.case_result();
  fields.insert(fields.end(), {{"time", FormatTimeExact(run.start_time())},
                               {"result_id", result.result_id()},
                               {"campaign_id", result.campaign_id()},
                               {"campaign", result.campaign_name()},
                               {"job_id", result.job_id()},
                               {"repetition", std::to_string(result.repetition())},
                               {"series_id", result.series_id()},
                               {"lineage_id", result.lineage_id()},
                               {"nodes", Semicolons(run.provenance().node_names())},
                               {"gpu_uuids", Semicolons(run.provenance().gpu_uuids())},
                               {"benchmark", run.benchmark()},
                               {"benchmark_version", std::to_string(run.benchmark_version())},
                               {"parameters", ParametersCsv(run)},
                               {"outcome", Outcome(run.outcome())},
                               {"failure_reason", run.failure().reason()},
                               {"failure_message", run.failure().message()}});
}

// Empty fields where nothing was measured.
void AddMeasurement(const v1::CaseResult& run, Fields& fields) {
  const bool measured = !run.measurements().empty();
  const v1::Measurement m = measured ? run.measurements(0) : v1::Measurement();
  const auto number = [measured](double value) { return measured ? FormatExact(value) : ""; };
  const auto bound = [&m](double value) {
    return schema::HasInterval(m) ? FormatExact(value) : "";
  };
  const char* direction = m.direction() == v1::DIRECTION_HIGHER_IS_BETTER  ? "higher"
                          : m.direction() == v1::DIRECTION_LOWER_IS_BETTER ? "lower"
                                                                           : "";
  fields.insert(fields.end(), {{"metric", m.metric()},
                               {"unit", m.unit()},
                               {"direction", direction},
                               {"n", measured ? std::to_string(m.n()) : ""},
                               {"median", number(m.median())},
                               {"mad", number(m.mad())},
                               {"p05", number(m.p05())},
                               {"p95", number(m.p95())},
                               {"ci_low", bound(m.ci_low())},
                               {"ci_high", bound(m.ci_high())},
                               {"cache", m.method().cache()},
                               {"fill", m.method().fill()},
                               {"timer", m.method().timer()},
                               {"batch", measured ? std::to_string(m.method().batch()) : ""},
                               {"warmup_seconds", number(m.method().warmup_seconds())},
                               {"stop_reason", m.method().stop_reason()}});
}

template <typename Value>
std::string If(bool present, Value value) {
  return present ? FormatExact(static_cast<double>(value)) : "";
}

void AddJudgement(const v1::CaseResult& run, Fields& fields) {
  const v1::Verification& v = run.verification();
  const bool verified = run.has_verification();
  const v1::Prediction& p = run.prediction();
  fields.insert(
      fields.end(),
      {{"verified", verified ? Bool(v.passed()) : ""},
       {"reference", v.reference()},
       {"error", If(verified, v.error())},
       {"tolerance", If(verified, v.tolerance())},
       {"flops", If(p.has_flops(), p.flops())},
       {"bytes", If(p.has_bytes(), p.bytes())},
       {"arithmetic_intensity", If(p.has_arithmetic_intensity(), p.arithmetic_intensity())},
       {"predicted_seconds", If(p.has_predicted_seconds(), p.predicted_seconds())},
       {"bound", p.bound()},
       {"spec", p.spec()},
       {"efficiency_spec", If(p.has_efficiency_spec(), p.efficiency_spec())},
       {"efficiency_measured", If(p.has_efficiency_measured(), p.efficiency_measured())},
       {"efficiency_clock", If(p.has_efficiency_clock(), p.efficiency_clock())}});
}

void AddConditions(const v1::CaseResult& run, Fields& fields) {
  const v1::Conditions& c = run.conditions();
  fields.insert(fields.end(),
                {{"sm_clock_mhz", If(c.has_sm_clock_mhz(), c.sm_clock_mhz())},
                 {"memory_clock_mhz", If(c.has_memory_clock_mhz(), c.memory_clock_mhz())},
                 {"power_watts", If(c.has_power_watts(), c.power_watts())},
                 {"temperature_celsius", If(c.has_temperature_celsius(), c.temperature_celsius())},
                 {"throttle_reasons", Semicolons(c.throttle_reasons())},
                 {"other_gpu_processes", If(c.has_other_gpu_processes(), c.other_gpu_processes())},
                 {"load_average", If(c.has_load_average(), c.load_average())},
                 {"flags", Semicolons(c.flags())}});
}

void AddEnvironment(const v1::CaseResult& run, Fields& fields) {
  const v1::Environment& e = run.environment();
  const v1::Provenance& p = run.provenance();
  fields.insert(fields.end(),
                {{"gpu_model", e.gpu_model()},
                 {"gpu_form_factor", e.gpu_form_factor()},
                 {"gpu_count", std::to_string(e.gpu_count())},
                 {"mig_profile", e.mig_profile()},
                 {"topology", e.topology()},
                 {"power_limit_watts", If(e.has_power_limit_watts(), e.power_limit_watts())},
                 {"ecc_enabled", e.has_ecc_enabled() ? Bool(e.ecc_enabled()) : ""},
                 {"clocks_locked", e.has_clocks_locked() ? Bool(e.clocks_locked()) : ""},
                 {"cpu_model", e.cpu_model()},
                 {"node_count", std::to_string(e.node_count())},
                 {"driver", e.driver_version()},
                 {"cuda", e.software().cuda_runtime()},
                 {"cublas", e.software().cublas()},
                 {"nccl", e.software().nccl()},
                 {"blas", e.software().blas()},
                 {"provider", p.provider()},
                 {"region", p.region()},
                 {"price_per_hour", If(p.has_price_per_hour(), p.price_per_hour())},
                 {"kernel", p.kernel()},
                 {"agent_version", p.agent_version()},
                 {"simulated", Bool(p.simulated())}});
}

// Added later, and so behind everything.
void AddRoofline(const v1::CaseResult& run, Fields& fields) {
  const v1::Prediction& p = run.prediction();
  fields.insert(fields.end(), {{"ridge_point", If(p.has_ridge_point(), p.ridge_point())},
                               {"regime", p.regime()},
                               {"spec_certainty", SpecCertainty(p.spec())}});
}

// Added later still.
void AddHostTime(const v1::CaseResult& run, Fields& fields) {
  const bool known = !run.measurements().empty() && run.measurements(0).method().host_seconds() > 0;
  fields.emplace_back("host_seconds",
                      If(known, known ? run.measurements(0).method().host_seconds() : 0));
}

// What the machine's times of other sizes predict.
void AddLinkModel(const v1::CaseResult& run, Fields& fields) {
  const bool known = run.prediction().has_link_model();
  const v1::LinkModel& model = run.prediction().link_model();
  fields.insert(fields.end(), {{"model_seconds", If(known, model.predicted_seconds())},
                               {"model_latency_seconds", If(known, model.latency_seconds())},
                               {"model_bandwidth", If(known, model.bandwidth())},
                               {"model_knee_bytes", If(known, model.knee_bytes())},
                               {"model_error", If(known, model.error())},
                               {"model_sizes", If(known, model.points())}});
}

void AddProfile(const v1::CaseResult& run, Fields& fields) {
  const v1::Counters& c = run.counters();
  fields.insert(
      fields.end(),
      {{"kernels", Semicolons(run.kernels())},
       {"counter_source", c.source()},
       {"counter_reason", c.reason()},
       {"dram_read_bytes", If(c.has_dram_read_bytes(), c.dram_read_bytes())},
       {"dram_write_bytes", If(c.has_dram_write_bytes(), c.dram_write_bytes())},
       {"dram_throughput", If(c.has_dram_throughput(), c.dram_throughput())},
       {"sm_active", If(c.has_sm_active(), c.sm_active())},
       {"sm_throughput", If(c.has_sm_throughput(), c.sm_throughput())},
       {"tensor_pipe_active", If(c.has_tensor_pipe_active(), c.tensor_pipe_active())},
       {"l2_hit_rate", If(c.has_l2_hit_rate(), c.l2_hit_rate())},
       {"shared_bank_conflicts", If(c.has_shared_bank_conflicts(), c.shared_bank_conflicts())},
       {"achieved_occupancy", If(c.has_achieved_occupancy(), c.achieved_occupancy())}});
}

// And later.
void AddOrigin(const v1::CaseResult& run, Fields& fields) {
  fields.emplace_back("imported_from", run.provenance().imported_from());
}

// NCCL's variables; its version stands beside those of the other libraries.
void AddNcclVariables(const v1::CaseResult& run, Fields& fields) {
  fields.emplace_back("nccl_variables", NcclText(run.environment()));
}

// Later than that.
void AddMeasuredRidge(const v1::CaseResult& run, Fields& fields) {
  const v1::Prediction& p = run.prediction();
  fields.emplace_back("ridge_measured", If(p.has_ridge_measured(), p.ridge_measured()));
}

// Last of all.
void AddKernelsReason(const v1::CaseResult& run, Fields& fields) {
  fields.emplace_back("kernels_reason", run.kernels_reason());
}

Fields AllFields(const v1::StoredResult& result) {
  Fields fields;
  AddIdentity(result, fields);
  AddMeasurement(result.case_result(), fields);
  AddJudgement(result.case_result(), fields);
  AddConditions(result.case_result(), fields);
  AddEnvironment(result.case_result(), fields);
  AddProfile(result.case_result(), fields);
  AddRoofline(result.case_result(), fields);
  AddHostTime(result.case_result(), fields);
  AddLinkModel(result.case_result(), fields);
  AddOrigin(result.case_result(), fields);
  AddNcclVariables(result.case_result(), fields);
  AddMeasuredRidge(result.case_result(), fields);
  AddKernelsReason(result.case_result(), fields);
  return fields;
}

}  // namespace

std::string ResultsCsvHeader() {
  std::vector<std::string> names;
  for (const auto& [name, value] : AllFields(v1::StoredResult())) names.emplace_back(name);
  return CsvRecord(names);
}

std::string ResultsCsv(const v1::StoredResult& result) {
  std::vector<std::string> values;
  for (auto& [name, value] : AllFields(result)) values.push_back(std::move(value));
  return CsvRecord(values);
}

}  // namespace assay::cli
