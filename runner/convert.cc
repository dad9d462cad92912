#include "runner/convert.h"

#include <algorithm>
#include <chrono>

#include "kernels/cpu/blas.h"

namespace assay {
namespace {

v1::Direction ToMessage(Direction direction) {
  return direction == Direction::kHigherIsBetter ? v1::DIRECTION_HIGHER_IS_BETTER
                                                 : v1::DIRECTION_LOWER_IS_BETTER;
}

v1::ParameterType ToMessage(ParameterType type) {
  switch (type) {
    case ParameterType::kInteger:
      return v1::PARAMETER_TYPE_INTEGER;
    case ParameterType::kBytes:
      return v1::PARAMETER_TYPE_BYTES;
    case ParameterType::kWord:
      return v1::PARAMETER_TYPE_WORD;
    case ParameterType::kBoolean:
      break;
  }
  return v1::PARAMETER_TYPE_BOOLEAN;
}

v1::ResourceKind ToMessage(Resource resource) {
  switch (resource) {
    case Resource::kCpu:
      return v1::RESOURCE_KIND_CPU;
    case Resource::kGpu:
      return v1::RESOURCE_KIND_GPU;
    case Resource::kNetwork:
      break;
  }
  return v1::RESOURCE_KIND_NETWORK;
}

void Fill(const WallTime& time, google::protobuf::Timestamp* message) {
  const auto nanos = time.time_since_epoch().count();
  message->set_seconds(nanos / 1'000'000'000);
  message->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
}

void Fill(const LinkedSoftware& software, v1::SoftwareVersions* message) {
  if (software.cuda_runtime) message->set_cuda_runtime(*software.cuda_runtime);
  if (software.cublas) message->set_cublas(*software.cublas);
  if (software.nccl) message->set_nccl(*software.nccl);
  if (software.blas) message->set_blas(*software.blas);
}

void Fill(const CaseReport& report, const ReportedMetric& metric, v1::Measurement* message) {
  message->set_metric(metric.metric.name);
  message->set_unit(metric.metric.unit);
  message->set_direction(ToMessage(metric.metric.direction));
  message->set_n(static_cast<int32_t>(metric.summary.n));
  message->set_median(metric.summary.median);
  message->set_mad(metric.summary.mad);
  message->set_p05(metric.summary.p05);
  message->set_p95(metric.summary.p95);
  if (metric.summary.HasInterval()) {
    message->set_ci_low(metric.summary.ci_low);
    message->set_ci_high(metric.summary.ci_high);
  }
  message->mutable_samples()->Add(metric.samples.begin(), metric.samples.end());
  v1::Method* method = message->mutable_method();
  method->set_cache(report.timing.cache);
  method->set_fill(report.timing.fill);
  method->set_timer(report.timing.timer);
  method->set_batch(static_cast<int32_t>(report.times.batch));
  method->set_warmup_seconds(report.times.warmup_seconds);
  method->set_warmup_iterations(report.times.warmup_iterations);
  method->set_stop_reason(report.times.stop_reason);
  method->set_host_seconds(report.times.host_seconds);
}

void Fill(const Verdict& verdict, v1::Verification* message) {
  message->set_passed(verdict.passed);
  message->set_reference(verdict.reference);
  message->set_error(verdict.error);
  message->set_tolerance(verdict.tolerance);
  message->set_norm(verdict.norm);
  message->set_elements_checked(verdict.elements_checked);
}

void Fill(const Prediction& prediction, v1::Prediction* message) {
  if (prediction.flops) message->set_flops(*prediction.flops);
  if (prediction.bytes) message->set_bytes(*prediction.bytes);
  if (prediction.arithmetic_intensity) {
    message->set_arithmetic_intensity(*prediction.arithmetic_intensity);
  }
  if (prediction.predicted_seconds) message->set_predicted_seconds(*prediction.predicted_seconds);
  message->set_bound(prediction.bound);
  if (prediction.efficiency_spec) message->set_efficiency_spec(*prediction.efficiency_spec);
  if (prediction.efficiency_measured) {
    message->set_efficiency_measured(*prediction.efficiency_measured);
  }
  if (prediction.efficiency_clock) message->set_efficiency_clock(*prediction.efficiency_clock);
  message->set_spec(prediction.spec);
  if (prediction.ridge_point) message->set_ridge_point(*prediction.ridge_point);
  if (prediction.ridge_measured) message->set_ridge_measured(*prediction.ridge_measured);
  message->set_regime(prediction.regime);
  if (!prediction.link_model) return;
  const AlphaBeta& model = *prediction.link_model;
  v1::LinkModel* const link = message->mutable_link_model();
  link->set_predicted_seconds(prediction.link_model_seconds);
  link->set_latency_seconds(model.latency_seconds);
  link->set_bandwidth(model.bandwidth);
  link->set_knee_bytes(model.KneeBytes());
  link->set_error(model.error);
  link->set_points(model.points);
}

void Fill(const CounterReport& counters, v1::Counters* message) {
  message->set_source(counters.source);
  message->set_reason(counters.reason);
  if (counters.dram_read_bytes) message->set_dram_read_bytes(*counters.dram_read_bytes);
  if (counters.dram_write_bytes) message->set_dram_write_bytes(*counters.dram_write_bytes);
  if (counters.sm_active) message->set_sm_active(*counters.sm_active);
  if (counters.sm_throughput) message->set_sm_throughput(*counters.sm_throughput);
  if (counters.dram_throughput) message->set_dram_throughput(*counters.dram_throughput);
  if (counters.tensor_pipe_active) message->set_tensor_pipe_active(*counters.tensor_pipe_active);
  if (counters.l2_hit_rate) message->set_l2_hit_rate(*counters.l2_hit_rate);
  if (counters.shared_bank_conflicts) {
    message->set_shared_bank_conflicts(*counters.shared_bank_conflicts);
  }
  if (counters.achieved_occupancy) message->set_achieved_occupancy(*counters.achieved_occupancy);
}

void Fill(const GangReport& gang, v1::CaseResult* result) {
  const auto place = [&gang](int rank) { return gang.places[static_cast<size_t>(rank)]; };
  for (const RankTimes& times : gang.times) {
    v1::RankTimes* const message = result->add_rank_times();
    message->set_rank(times.rank);
    message->set_median(times.median);
    message->set_p05(times.p05);
    message->set_p95(times.p95);
    message->set_n(static_cast<int32_t>(times.n));
    message->set_node_name(place(times.rank).host);
    message->set_gpu_index(place(times.rank).gpu_index);
    message->set_wait(times.wait);
  }
  if (gang.slow) {
    v1::SlowRank* const message = result->mutable_slow_rank();
    message->set_rank(gang.slow->rank);
    message->set_node_name(place(gang.slow->rank).host);
    message->set_gpu_index(place(gang.slow->rank).gpu_index);
    message->set_others_wait_seconds(gang.slow->others_wait_seconds);
  }
  if (gang.choice) {
    v1::Collective* const message = result->mutable_collective();
    message->set_algorithm(gang.choice->algorithm);
    message->set_protocol(gang.choice->protocol);
    message->set_channels(gang.choice->channels);
    message->set_source(gang.choice->source);
  }
}

void Fill(const WindowConditions& conditions, v1::Conditions* message) {
  if (conditions.sm_clock_mhz) message->set_sm_clock_mhz(*conditions.sm_clock_mhz);
  if (conditions.memory_clock_mhz) message->set_memory_clock_mhz(*conditions.memory_clock_mhz);
  if (conditions.power_watts) message->set_power_watts(*conditions.power_watts);
  if (conditions.temperature_celsius) {
    message->set_temperature_celsius(*conditions.temperature_celsius);
  }
  if (conditions.other_gpu_processes) {
    message->set_other_gpu_processes(*conditions.other_gpu_processes);
  }
  if (conditions.load_average) message->set_load_average(*conditions.load_average);
  for (const std::string& reason : conditions.throttle_reasons) {
    message->add_throttle_reasons(reason);
  }
  for (const std::string& flag : conditions.flags) message->add_flags(flag);
}

void Fill(const ReportedEnvironment& environment, v1::Environment* message) {
  message->set_gpu_model(environment.gpu_model);
  message->set_gpu_form_factor(environment.gpu_form_factor);
  message->set_gpu_count(environment.gpu_count);
  message->set_topology(environment.topology);
  if (environment.power_limit_watts) message->set_power_limit_watts(*environment.power_limit_watts);
  if (environment.ecc_enabled) message->set_ecc_enabled(*environment.ecc_enabled);
  message->set_cpu_model(environment.cpu_model);
  Fill(environment.software, message->mutable_software());
}

void Fill(const Status& error, Outcome outcome, v1::Failure* message) {
  const bool user = outcome == Outcome::kUnsupported || error.code() == Code::kInvalidArgument;
  message->set_failure_class(user ? v1::FAILURE_CLASS_USER : v1::FAILURE_CLASS_JOB);
  message->set_reason(error.reason().empty() ? std::string(CodeName(error.code()))
                                             : error.reason());
  // A failure has no hint of its own, and what would fit belongs to what did not.
  message->set_message(error.message() + (error.hint().empty() ? "" : "; " + error.hint()));
  message->set_evidence(error.ToString());
}

void Fill(const Limit& limit, v1::ParameterLimit* message) {
  for (const auto& [name, values] : limit.when) {
    v1::ParameterCondition* const condition = message->add_when();
    condition->set_parameter(name);
    condition->mutable_values()->Add(values.begin(), values.end());
  }
  message->mutable_values()->Add(limit.values.begin(), limit.values.end());
  if (limit.minimum) message->set_minimum(*limit.minimum);
  if (limit.maximum) message->set_maximum(*limit.maximum);
  message->set_minimum_per(limit.minimum_per);
  message->set_why(limit.why);
  message->mutable_times()->Add(limit.times.begin(), limit.times.end());
}

void Fill(const ParameterSpec& spec, v1::ParameterSchema* message) {
  message->set_name(spec.name);
  message->set_type(ToMessage(spec.type));
  message->set_description(spec.description);
  if (spec.default_value) message->set_default_value(*spec.default_value);
  if (spec.minimum) message->set_minimum(*spec.minimum);
  if (spec.maximum) message->set_maximum(*spec.maximum);
  for (const std::string& word : spec.words) message->add_words(word);
  message->set_below(spec.below);
  for (const Limit& limit : spec.limits) Fill(limit, message->add_limits());
  const MultipleOf& of = spec.multiple_of;
  if (of.number == 1 && of.parameter.empty()) return;
  v1::MultipleOf* const multiple = message->mutable_multiple_of();
  if (of.number != 1) multiple->set_number(of.number);
  multiple->set_parameter(of.parameter);
  multiple->mutable_of_words()->insert(of.of_words.begin(), of.of_words.end());
}

}  // namespace

v1::CaseResult ToMessage(const CaseReport& report) {
  v1::CaseResult result;
  switch (report.outcome) {
    case Outcome::kOk:
      result.set_outcome(v1::CASE_OUTCOME_OK);
      break;
    case Outcome::kFailed:
      result.set_outcome(v1::CASE_OUTCOME_FAILED);
      break;
    case Outcome::kUnsupported:
      result.set_outcome(v1::CASE_OUTCOME_UNSUPPORTED);
      break;
  }
  if (!report.error.ok()) Fill(report.error, report.outcome, result.mutable_failure());
  if (!report.library_log.empty()) {
    result.mutable_failure()->mutable_evidence()->append("\nNCCL's log, rank 0:\n" +
                                                         report.library_log);
  }
  for (const auto& [name, value] : report.parameters) (*result.mutable_parameters())[name] = value;
  result.set_benchmark(report.benchmark);
  result.set_benchmark_version(report.version);
  for (const ReportedMetric& metric : report.metrics) {
    Fill(report, metric, result.add_measurements());
  }
  if (report.verification) Fill(*report.verification, result.mutable_verification());
  if (report.outcome == Outcome::kOk) {
    Fill(report.prediction, result.mutable_prediction());
    Fill(report.conditions, result.mutable_conditions());
    result.mutable_kernels()->Add(report.kernels.begin(), report.kernels.end());
    result.set_kernels_reason(report.kernels_reason);
    if (report.counters) Fill(*report.counters, result.mutable_counters());
    Fill(report.gang, &result);
  }
  Fill(report.environment, result.mutable_environment());
  Fill(report.start_time, result.mutable_start_time());
  Fill(report.end_time, result.mutable_end_time());
  return result;
}

void AddGpus(const std::vector<RankGpu>& gpus, v1::CaseResult* result) {
  if (gpus.empty()) return;
  const auto every = [&](const auto& holds) {
    return std::all_of(gpus.begin(), gpus.end(), holds);
  };
  v1::Provenance* const provenance = result->mutable_provenance();
  if (every([](const RankGpu& gpu) { return !gpu.uuid.empty(); })) {
    for (const RankGpu& gpu : gpus) provenance->add_gpu_uuids(gpu.uuid);
  }
  if (every([&](const RankGpu& gpu) { return gpu.model == gpus[0].model; })) return;
  if (every([](const RankGpu& gpu) { return !gpu.model.empty(); })) {
    for (const RankGpu& gpu : gpus) provenance->add_gpu_models(gpu.model);
  }
}

v1::RunnerDescription DescribeBenchmarks(const Registry& registry) {
  v1::RunnerDescription description;
  LinkedSoftware software = Software();
  software.blas = BlasVersion();
  Fill(software, description.mutable_software());
  for (const auto& benchmark : registry.All()) {
    const BenchmarkInfo& info = benchmark->Info();
    v1::BenchmarkSchema* schema = description.add_benchmarks();
    schema->set_name(info.name);
    schema->set_version(info.version);
    schema->set_summary(info.summary);
    schema->set_resource(ToMessage(info.resource));
    schema->set_collective(info.collective);
    schema->set_model(info.model);
    schema->set_prediction(info.prediction);
    schema->set_unsupported_reason(benchmark->UnsupportedReason());
    for (const ParameterSpec& spec : info.parameters) Fill(spec, schema->add_parameters());
    for (const Metric& metric : info.metrics) {
      v1::MetricSchema* message = schema->add_metrics();
      message->set_name(metric.name);
      message->set_unit(metric.unit);
      message->set_direction(ToMessage(metric.direction));
      message->set_description(metric.description);
    }
  }
  return description;
}

}  // namespace assay
