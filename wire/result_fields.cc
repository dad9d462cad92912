#include "wire/result_fields.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "wire/interval.h"
#include "wire/reasons.h"
#include "wire/result_flags.h"
#include "wire/timestamps.h"

namespace assay::schema {
namespace {

using R = const v1::StoredResult&;
using V = FieldValue;

const v1::StoredResult& Stored(R r) { return r; }
const v1::CaseResult& Case(R r) { return r.case_result(); }
const v1::Failure& Failed(R r) { return Case(r).failure(); }
const v1::Measurement& Measured(R r) {
  const auto& measurements = Case(r).measurements();
  return measurements.empty() ? v1::Measurement::default_instance() : measurements[0];
}
const v1::Method& How(R r) { return Measured(r).method(); }
const v1::Verification& Checked(R r) { return Case(r).verification(); }
const v1::Prediction& Model(R r) { return Case(r).prediction(); }
const v1::LinkModel& Fit(R r) { return Model(r).link_model(); }
const v1::Conditions& During(R r) { return Case(r).conditions(); }
const v1::Environment& Hardware(R r) { return Case(r).environment(); }
const v1::SoftwareVersions& Software(R r) { return Hardware(r).software(); }
const v1::Provenance& Origin(R r) { return Case(r).provenance(); }
const v1::Counters& Counted(R r) { return Case(r).counters(); }
const v1::Collective& Chosen(R r) { return Case(r).collective(); }
const v1::SlowRank& Slow(R r) { return Case(r).slow_rank(); }

bool IsMeasured(R r) { return !Case(r).measurements().empty(); }
bool HasBounds(R r) { return IsMeasured(r) && HasInterval(Measured(r)); }
bool HasHostTime(R r) { return How(r).host_seconds() > 0; }
bool IsVerified(R r) { return Case(r).has_verification(); }
bool IsFitted(R r) { return Model(r).has_link_model(); }
bool HasChannels(R r) { return Chosen(r).channels() > 0; }
bool HasSlowRank(R r) { return Case(r).has_slow_rank(); }

V ToValue(const std::string& text) { return TextOrNull(text); }
V ToValue(double number) { return NumberOrNull(number); }
template <typename Integer>
requires std::is_integral_v<Integer> V ToValue(Integer number) { return number; }

// Readers of one member of a part of the result. Get: null only for an empty text.
template <auto Part, auto Member>
V Get(R r) {
  return ToValue((Part(r).*Member)());
}

// Null unless the part has the member.
template <auto Part, auto Has, auto Member>
V If(R r) {
  return (Part(r).*Has)() ? ToValue((Part(r).*Member)()) : V();
}

// Null unless `Known` holds for the result.
template <auto Known, auto Part, auto Member>
V When(R r) {
  return Known(r) ? ToValue((Part(r).*Member)()) : V();
}

V Time(bool known, const google::protobuf::Timestamp& time) {
  return known ? TextOrNull(TimeText(time)) : V();
}

template <typename Texts>
V List(const Texts& texts) {
  return texts.empty() ? V() : V(std::vector<std::string>(texts.begin(), texts.end()));
}

// Sorted by name: a message's map has no order.
V Map(const google::protobuf::Map<std::string, std::string>& texts) {
  V object;
  for (const auto& [name, text] : std::map<std::string, std::string>(texts.begin(), texts.end())) {
    object[name] = text;
  }
  return object;
}

V Samples(R r) {
  const auto& samples = Measured(r).samples();
  return samples.empty() ? V() : V(std::vector<double>(samples.begin(), samples.end()));
}

V UncertaintyOf(R r) {
  const std::optional<double> value = Uncertainty(Measured(r));
  return value ? NumberOrNull(*value) : V();
}

V DirectionWord(R r) {
  switch (Measured(r).direction()) {
    case v1::DIRECTION_HIGHER_IS_BETTER:
      return "higher";
    case v1::DIRECTION_LOWER_IS_BETTER:
      return "lower";
    default:
      return V();
  }
}

V FailureClassWord(R r) {
  switch (Case(r).failure().failure_class()) {
    case v1::FAILURE_CLASS_NODE:
      return "node";
    case v1::FAILURE_CLASS_JOB:
      return "job";
    case v1::FAILURE_CLASS_INFRASTRUCTURE:
      return "infrastructure";
    case v1::FAILURE_CLASS_USER:
      return "user";
    default:
      return V();
  }
}

V RankTimes(R r) {
  V ranks;
  for (const v1::RankTimes& rank : Case(r).rank_times()) {
    V one = {{"rank", rank.rank()},
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

std::vector<std::string> Words(const char* words) {
  std::istringstream stream(words);
  return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<std::string> FlagWords() { return {kResultFlags.begin(), kResultFlags.end()}; }

using Rows = std::vector<ResultField>;
constexpr FieldType kText = FieldType::kText;
constexpr FieldType kVersion = FieldType::kVersion;
constexpr FieldType kNumber = FieldType::kNumber;
constexpr FieldType kBoolean = FieldType::kBoolean;
constexpr FieldType kTexts = FieldType::kTexts;
constexpr StoredIn kNowhere = StoredIn::kNowhere;
constexpr StoredIn kResult = StoredIn::kResult;
constexpr StoredIn kSeries = StoredIn::kSeries;
constexpr StoredIn kEnvironment = StoredIn::kEnvironment;
constexpr StoredIn kDerived = StoredIn::kDerived;

// The case, its time and its place.
Rows IdentityFields() {
  return {
      {"time", FieldType::kTime, "UTC", "start of the case",
       [](R r) { return Time(Case(r).has_start_time(), Case(r).start_time()); }, kResult,
       ">= 2026-01-31"},
      {"end_time", FieldType::kTime, "UTC", "end of the case",
       [](R r) { return Time(Case(r).has_end_time(), Case(r).end_time()); }, kResult,
       "< 2026-01-31T08:00"},
      {"result_id", kText, "", "id of the result", Get<Stored, &v1::StoredResult::result_id>},
      {"campaign", kText, "", "name of the campaign", Get<Stored, &v1::StoredResult::campaign_name>,
       kDerived, "= nightly"},
      {"campaign_id", kText, "", "id of the campaign", Get<Stored, &v1::StoredResult::campaign_id>,
       kDerived, ": *"},
      {"job_id", kText, "", "id of the job", Get<Stored, &v1::StoredResult::job_id>, kDerived,
       ": *"},
      {"repetition", kNumber, "", "repetition of the campaign, from 0",
       Get<Stored, &v1::StoredResult::repetition>, kDerived, "= 0"},
      {"series_id", kText, "",
       "results with the same benchmark, parameters, metric, hardware and software",
       Get<Stored, &v1::StoredResult::series_id>, kDerived, ": *"},
      {"lineage_id", kText, "", "as series_id, regardless of driver and library versions",
       Get<Stored, &v1::StoredResult::lineage_id>, kDerived, ": *"},
      {"node", kTexts, "", "names of the nodes, in rank order",
       [](R r) { return List(Origin(r).node_names()); }, kResult, "= g3"},
      {"node_id", kTexts, "", "ids of the nodes, in rank order",
       [](R r) { return List(Origin(r).node_ids()); }, kResult, ": *"},
      {"gpu.uuid", kTexts, "", "UUIDs of the GPUs, in rank order",
       [](R r) { return List(Origin(r).gpu_uuids()); }, kResult, ": *"},
      {"gpu.rank_model", kTexts, "", "model of each rank's GPU, if a gang has several models",
       [](R r) { return List(Origin(r).gpu_models()); }},
      {"benchmark", kText, "", "name of the benchmark", Get<Case, &v1::CaseResult::benchmark>,
       kSeries, "= gemm"},
      {"benchmark_version", kNumber, "", "version of the benchmark",
       Get<Case, &v1::CaseResult::benchmark_version>, kSeries, ">= 2"},
      {"parameters", FieldType::kMap, "", "the benchmark's parameters, defaults included",
       [](R r) { return Map(Case(r).parameters()); }, kDerived, "parameters.bytes >= 1MiB"},
      {"outcome", kText, "", "how the case ended",
       [](R r) { return TextOrNull(OutcomeName(Case(r).outcome())); }, kResult, "!= ok",
       Words("ok failed unsupported")},
      {"failure_class", kText, "", "who has to act on the failure", FailureClassWord},
      {"failure_reason", kText, "", "why the case failed, see failure-reasons.md",
       [](R r) { return TextOrNull(ReasonWord(Case(r).failure().reason())); }, kResult,
       "= TIMEOUT"},
      {"failure_message", kText, "", "the failure for people", Get<Failed, &v1::Failure::message>},
      {"failure_evidence", kText, "", "output of the runner that failed",
       Get<Failed, &v1::Failure::evidence>},
  };
}

// The numbers and how they were measured.
Rows MeasurementFields() {
  return {
      {"metric", kText, "", "what was measured", Get<Measured, &v1::Measurement::metric>, kSeries,
       "= bus_bandwidth"},
      {"primary", kBoolean, "", "whether the metric is the first of its case",
       Get<Stored, &v1::StoredResult::primary>, kResult, "= false"},
      {"unit", kText, "", "unit of median, mad, p05, p95, ci_low and ci_high",
       Get<Measured, &v1::Measurement::unit>, kSeries, "= \"GB/s\""},
      {"direction", kText, "", "which values are better", DirectionWord, kSeries, "",
       Words("higher lower")},
      {"n", kNumber, "", "number of samples", When<IsMeasured, Measured, &v1::Measurement::n>,
       kResult},
      {"median", kNumber, "`unit`", "median of the samples",
       When<IsMeasured, Measured, &v1::Measurement::median>, kResult, "> 700"},
      {"mad", kNumber, "`unit`", "median absolute deviation, unscaled",
       When<IsMeasured, Measured, &v1::Measurement::mad>, kResult, "< 0.5"},
      {"p05", kNumber, "`unit`", "5th percentile",
       When<IsMeasured, Measured, &v1::Measurement::p05>, kResult, "> 690"},
      {"p95", kNumber, "`unit`", "95th percentile",
       When<IsMeasured, Measured, &v1::Measurement::p95>, kResult, "< 720"},
      {"ci_low", kNumber, "`unit`", "low end of the median's 95% confidence interval",
       When<HasBounds, Measured, &v1::Measurement::ci_low>, kResult, "> 700"},
      {"ci_high", kNumber, "`unit`", "high end of the median's 95% confidence interval",
       When<HasBounds, Measured, &v1::Measurement::ci_high>, kResult, "< 720"},
      {"uncertainty", kNumber, "of the median", "half of the confidence interval's width",
       UncertaintyOf, kDerived, "> 0.025"},
      {"cache", kText, "", "state of the cache before an iteration", Get<How, &v1::Method::cache>,
       kSeries, "= hot", Words("cold hot none")},
      {"fill", kText, "", "input data: random or zeros", Get<How, &v1::Method::fill>, kSeries,
       "= zeros"},
      {"timer", kText, "", "clock of the samples: events, graph, host_clock, nccl_tests",
       Get<How, &v1::Method::timer>},
      {"batch", kNumber, "", "iterations timed as one sample",
       When<IsMeasured, How, &v1::Method::batch>},
      {"warmup_seconds", kNumber, "s", "time of the warm-up",
       When<IsMeasured, How, &v1::Method::warmup_seconds>},
      {"warmup_iterations", kNumber, "", "iterations of the warm-up",
       When<IsMeasured, How, &v1::Method::warmup_iterations>},
      {"stop_reason", kText, "", "why the timing ended", Get<How, &v1::Method::stop_reason>,
       kResult, "= time_budget", Words("confidence noise_stable time_budget max_samples")},
      {"host_seconds", kNumber, "s", "an iteration by the host's clock, launches included",
       When<HasHostTime, How, &v1::Method::host_seconds>},
      {"samples", FieldType::kNumbers, "`unit`", "the samples in the order measured", Samples},
  };
}

// Whether the output was right, and how fast the case could have been.
Rows JudgementFields() {
  return {
      {"verified", kBoolean, "", "whether the output was right",
       When<IsVerified, Checked, &v1::Verification::passed>},
      {"reference", kText, "", "what the output was compared with",
       Get<Checked, &v1::Verification::reference>},
      {"error", kNumber, "", "difference from the reference",
       When<IsVerified, Checked, &v1::Verification::error>},
      {"error_norm", kText, "", "norm of `error`", Get<Checked, &v1::Verification::norm>},
      {"tolerance", kNumber, "", "largest error that passes",
       When<IsVerified, Checked, &v1::Verification::tolerance>},
      {"elements_checked", kNumber, "", "elements compared with the reference",
       When<IsVerified, Checked, &v1::Verification::elements_checked>},
      {"flops", kNumber, "FLOP", "arithmetic of one iteration",
       If<Model, &v1::Prediction::has_flops, &v1::Prediction::flops>},
      {"bytes", kNumber, "B", "bytes that one iteration moves",
       If<Model, &v1::Prediction::has_bytes, &v1::Prediction::bytes>},
      {"arithmetic_intensity", kNumber, "FLOP/B", "flops / bytes",
       If<Model, &v1::Prediction::has_arithmetic_intensity, &v1::Prediction::arithmetic_intensity>},
      {"predicted_seconds", kNumber, "s", "time of one iteration at the spec sheet's peaks",
       If<Model, &v1::Prediction::has_predicted_seconds, &v1::Prediction::predicted_seconds>},
      {"bound", kText, "", "what limits predicted_seconds", Get<Model, &v1::Prediction::bound>},
      {"spec", kText, "", "row of the spec sheet", Get<Model, &v1::Prediction::spec>},
      {"spec_certainty", kText, "", "whether the row was read from the vendor's sheet",
       Get<Model, &v1::Prediction::spec_certainty>, kNowhere, "", Words("sheet recalled")},
      {"efficiency_spec", kNumber, "of 1", "achieved over predicted by the spec sheet",
       If<Model, &v1::Prediction::has_efficiency_spec, &v1::Prediction::efficiency_spec>, kResult,
       "< 0.6"},
      {"efficiency_measured", kNumber, "of 1", "the same by the ceilings measured on the device",
       If<Model, &v1::Prediction::has_efficiency_measured, &v1::Prediction::efficiency_measured>},
      {"efficiency_clock", kNumber, "of 1", "the same by the peak at the observed clock",
       If<Model, &v1::Prediction::has_efficiency_clock, &v1::Prediction::efficiency_clock>},
      {"ridge_point", kNumber, "FLOP/B", "where compute and memory bounds meet, by the sheet",
       If<Model, &v1::Prediction::has_ridge_point, &v1::Prediction::ridge_point>},
      {"ridge_measured", kNumber, "FLOP/B", "the same by the measured ceilings",
       If<Model, &v1::Prediction::has_ridge_measured, &v1::Prediction::ridge_measured>},
      {"regime", kText, "", "what takes the time, by the model",
       Get<Model, &v1::Prediction::regime>, kResult, "= memory",
       Words("launch memory cache compute link")},
      {"model_seconds", kNumber, "s", "time predicted by the times of the machine's other sizes",
       When<IsFitted, Fit, &v1::LinkModel::predicted_seconds>, kResult, "> 0.001"},
      {"model_latency_seconds", kNumber, "s", "latency of that model",
       When<IsFitted, Fit, &v1::LinkModel::latency_seconds>, kResult, "< 1e-4"},
      {"model_bandwidth", kNumber, "B/s", "bandwidth of that model",
       When<IsFitted, Fit, &v1::LinkModel::bandwidth>, kResult, "> 3e11"},
      {"model_knee_bytes", kNumber, "B", "size whose time is half latency, by that model",
       When<IsFitted, Fit, &v1::LinkModel::knee_bytes>, kResult, "> 4e6"},
      {"model_error", kNumber, "of 1", "median distance of the other sizes from that model",
       When<IsFitted, Fit, &v1::LinkModel::error>, kResult, "> 0.1"},
      {"model_sizes", kNumber, "", "sizes that the model was fitted to",
       When<IsFitted, Fit, &v1::LinkModel::points>, kResult, ">= 7"},
  };
}

// The hardware during the timed window.
Rows ConditionFields() {
  return {
      {"sm_clock_mhz", kNumber, "MHz", "SM clock",
       If<During, &v1::Conditions::has_sm_clock_mhz, &v1::Conditions::sm_clock_mhz>},
      {"memory_clock_mhz", kNumber, "MHz", "memory clock",
       If<During, &v1::Conditions::has_memory_clock_mhz, &v1::Conditions::memory_clock_mhz>},
      {"power_watts", kNumber, "W", "power of the GPU",
       If<During, &v1::Conditions::has_power_watts, &v1::Conditions::power_watts>},
      {"temperature_celsius", kNumber, "C", "temperature of the GPU",
       If<During, &v1::Conditions::has_temperature_celsius, &v1::Conditions::temperature_celsius>},
      {"throttle_reason", kTexts, "", "reasons for lowered clocks that NVML reported",
       [](R r) { return List(During(r).throttle_reasons()); }},
      {"other_gpu_processes", kNumber, "", "other processes on the GPU",
       If<During, &v1::Conditions::has_other_gpu_processes, &v1::Conditions::other_gpu_processes>},
      {"load_average", kNumber, "", "load average of the host",
       If<During, &v1::Conditions::has_load_average, &v1::Conditions::load_average>},
      {"flag", kTexts, "", "doubts about the number", [](R r) { return List(During(r).flags()); },
       kResult, "= throttled", FlagWords()},
  };
}

// The hardware and the software that produced the number.
Rows EnvironmentFields() {
  return {
      {"gpu.model", kText, "", "model of the GPUs", Get<Hardware, &v1::Environment::gpu_model>,
       kEnvironment, "= H200"},
      {"gpu.form_factor", kText, "", "SXM or PCIe",
       Get<Hardware, &v1::Environment::gpu_form_factor>, kEnvironment, "= SXM"},
      {"gpu.count", kNumber, "", "number of GPUs; 0 for a CPU result",
       Get<Hardware, &v1::Environment::gpu_count>, kEnvironment, ">= 2"},
      {"gpu.mig_profile", kText, "", "profile of a MIG instance",
       Get<Hardware, &v1::Environment::mig_profile>, kEnvironment, ": *"},
      {"topology", kText, "", "links between the GPUs: single, nvlink, pcie, network or none",
       Get<Hardware, &v1::Environment::topology>, kEnvironment, "= nvlink"},
      {"power_limit_watts", kNumber, "W", "power limit of the GPU",
       If<Hardware, &v1::Environment::has_power_limit_watts, &v1::Environment::power_limit_watts>},
      {"ecc_enabled", kBoolean, "", "whether the GPU's memory has ECC enabled",
       If<Hardware, &v1::Environment::has_ecc_enabled, &v1::Environment::ecc_enabled>},
      {"clocks_locked", kBoolean, "", "whether the GPU's clocks are locked",
       If<Hardware, &v1::Environment::has_clocks_locked, &v1::Environment::clocks_locked>},
      {"cpu.model", kText, "", "model of the CPU, if it takes part",
       Get<Hardware, &v1::Environment::cpu_model>, kEnvironment, ": EPYC"},
      {"node_count", kNumber, "", "number of nodes", Get<Hardware, &v1::Environment::node_count>},
      {"driver", kVersion, "", "version of the NVIDIA driver",
       Get<Hardware, &v1::Environment::driver_version>, kEnvironment, ">= 580.95"},
      {"cuda", kVersion, "", "version of the CUDA runtime",
       Get<Software, &v1::SoftwareVersions::cuda_runtime>, kEnvironment, ">= 13"},
      {"cublas", kVersion, "", "version of cuBLAS", Get<Software, &v1::SoftwareVersions::cublas>,
       kEnvironment, ">= 13.1"},
      {"nccl", kVersion, "", "version of NCCL", Get<Software, &v1::SoftwareVersions::nccl>,
       kEnvironment, ">= 2.28"},
      {"blas", FieldType::kNameWithVersion, "", "BLAS library of the CPU, with its version",
       Get<Software, &v1::SoftwareVersions::blas>, kEnvironment, "= \"OpenBLAS 0.3.21*\""},
      {"nccl_variables", FieldType::kMap, "", "NCCL's environment variables that were set",
       [](R r) { return Map(Hardware(r).nccl()); }, kDerived, "nccl_variables.NCCL_ALGO = Ring"},
      {"provider", kText, "", "who rents out the node", Get<Origin, &v1::Provenance::provider>,
       kResult, "= runpod"},
      {"region", kText, "", "where the node is", Get<Origin, &v1::Provenance::region>, kResult,
       "= eu"},
      {"price_per_hour", kNumber, "", "price of the node, in the fleet's currency",
       If<Origin, &v1::Provenance::has_price_per_hour, &v1::Provenance::price_per_hour>, kResult,
       "< 2.5"},
      {"kernel", FieldType::kNameWithVersion, "", "version of the operating system's kernel",
       Get<Origin, &v1::Provenance::kernel>, kResult, "= 6.8*"},
      {"agent_version", kVersion, "", "version of the agent",
       Get<Origin, &v1::Provenance::agent_version>, kResult, ">= 0.1"},
      {"simulated", kBoolean, "", "whether the node is simulated; false unless the filter names it",
       Get<Origin, &v1::Provenance::simulated>, kSeries, "= true"},
      {"imported", kBoolean, "", "whether another program measured it; false unless named",
       [](R r) { return V(!Origin(r).imported_from().empty()); }, kDerived, "= true"},
      {"imported_from", kText, "", "the program that measured it, with its version",
       Get<Origin, &v1::Provenance::imported_from>, kResult, ": nccl-tests"},
  };
}

// Measurements of the profiler and of the other ranks.
Rows ProfileFields() {
  return {
      {"gpu.kernel", kTexts, "", "GPU kernels of one iteration, in order of their first launch",
       [](R r) { return List(Case(r).kernels()); }},
      {"gpu.kernel_reason", kText, "", "why the GPU kernels are unknown",
       Get<Case, &v1::CaseResult::kernels_reason>},
      {"counter_source", kText, "", "where the counters come from: cupti, nvml_gpm or analytic",
       Get<Counted, &v1::Counters::source>},
      {"counter_reason", kText, "", "why there is no better source",
       Get<Counted, &v1::Counters::reason>},
      {"dram_read_bytes", kNumber, "B", "bytes read from the GPU's memory",
       If<Counted, &v1::Counters::has_dram_read_bytes, &v1::Counters::dram_read_bytes>},
      {"dram_write_bytes", kNumber, "B", "bytes written to the GPU's memory",
       If<Counted, &v1::Counters::has_dram_write_bytes, &v1::Counters::dram_write_bytes>},
      {"dram_throughput", kNumber, "of 1", "memory throughput over its peak",
       If<Counted, &v1::Counters::has_dram_throughput, &v1::Counters::dram_throughput>},
      {"sm_active", kNumber, "of 1", "share of the time in which an SM had work",
       If<Counted, &v1::Counters::has_sm_active, &v1::Counters::sm_active>},
      {"sm_throughput", kNumber, "of 1", "SM throughput over its peak",
       If<Counted, &v1::Counters::has_sm_throughput, &v1::Counters::sm_throughput>},
      {"tensor_pipe_active", kNumber, "of 1",
       "share of the time in which the tensor pipe was active",
       If<Counted, &v1::Counters::has_tensor_pipe_active, &v1::Counters::tensor_pipe_active>},
      {"l2_hit_rate", kNumber, "of 1", "hits over look-ups of the L2 cache",
       If<Counted, &v1::Counters::has_l2_hit_rate, &v1::Counters::l2_hit_rate>},
      {"shared_bank_conflicts", kNumber, "", "shared-memory wavefronts beyond the ideal number",
       If<Counted, &v1::Counters::has_shared_bank_conflicts, &v1::Counters::shared_bank_conflicts>},
      {"achieved_occupancy", kNumber, "of 1", "resident warps over the most possible",
       If<Counted, &v1::Counters::has_achieved_occupancy, &v1::Counters::achieved_occupancy>},
      {"collective.algorithm", kText, "", "algorithm that NCCL chose",
       Get<Chosen, &v1::Collective::algorithm>},
      {"collective.protocol", kText, "", "protocol that NCCL chose",
       Get<Chosen, &v1::Collective::protocol>},
      {"collective.channels", kNumber, "", "channels that NCCL used",
       When<HasChannels, Chosen, &v1::Collective::channels>},
      {"collective.source", kText, "", "who reported the three",
       Get<Chosen, &v1::Collective::source>},
      {"slow_rank.rank", kNumber, "", "the rank that the others waited for",
       When<HasSlowRank, Slow, &v1::SlowRank::rank>},
      {"slow_rank.node", kText, "", "name of its node", Get<Slow, &v1::SlowRank::node_name>},
      {"slow_rank.gpu_index", kNumber, "", "index of its GPU",
       When<HasSlowRank, Slow, &v1::SlowRank::gpu_index>},
      {"slow_rank.others_wait_seconds", kNumber, "s", "median time that the others waited",
       When<HasSlowRank, Slow, &v1::SlowRank::others_wait_seconds>},
      {"rank_times", FieldType::kObjects, "s", "time of each rank inside an iteration", RankTimes},
  };
}

bool InCsv(const ResultField& field) {
  return field.type != FieldType::kNumbers && field.type != FieldType::kObjects;
}

}  // namespace

const std::vector<ResultField>& ResultFields() {
  static const std::vector<ResultField> fields = [] {
    Rows all;
    for (const auto& rows : {IdentityFields, MeasurementFields, JudgementFields, ConditionFields,
                             EnvironmentFields, ProfileFields}) {
      for (ResultField& row : rows()) all.push_back(std::move(row));
    }
    return all;
  }();
  return fields;
}

const ResultField* FindResultField(std::string_view name) {
  const auto found = std::find_if(ResultFields().begin(), ResultFields().end(),
                                  [&](const ResultField& field) { return field.name == name; });
  return found == ResultFields().end() ? nullptr : &*found;
}

std::string OutcomeName(v1::CaseOutcome outcome) {
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

std::vector<v1::StoredResult> SplitByMetric(const v1::CaseResult& result) {
  v1::StoredResult bare;
  *bare.mutable_case_result() = result;
  bare.mutable_case_result()->clear_measurements();
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
  for (const ResultField& field : ResultFields()) AddNested(json, field.name, field.read(result));
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
    if (InCsv(field)) texts.push_back(FieldText(field.read(result)));
  }
  return texts;
}

}  // namespace assay::schema
