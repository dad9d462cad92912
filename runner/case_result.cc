#include "runner/case_result.h"

#include <algorithm>
#include <chrono>

#include "host/conditions.h"
#include "host/gpu_platform.h"
#include "roofline/spec_sheet.h"
#include "wire/reasons.h"

namespace assay {

ExecutedCase CaseNotBegun(const BenchmarkInfo& info, const ParameterMap& parameters,
                          const Status& error) {
  ExecutedCase executed;
  executed.result.set_benchmark(info.name);
  executed.result.set_benchmark_version(info.version);
  executed.result.mutable_parameters()->insert(parameters.begin(), parameters.end());
  SetError(error, &executed);
  Fill(Clock::Real().WallNow(), executed.result.mutable_start_time());
  *executed.result.mutable_end_time() = executed.result.start_time();
  return executed;
}

void SetError(const Status& error, ExecutedCase* executed) {
  const bool unsupported = IsUnsupported(error);
  v1::CaseResult& result = executed->result;
  executed->error = error;
  result.set_outcome(unsupported ? v1::CASE_OUTCOME_UNSUPPORTED : v1::CASE_OUTCOME_FAILED);
  result.clear_measurements();
  result.clear_conditions();
  v1::Failure* const failure = result.mutable_failure();
  const bool user = unsupported || error.code() == Code::kInvalidArgument;
  failure->set_failure_class(user ? v1::FAILURE_CLASS_USER : v1::FAILURE_CLASS_JOB);
  failure->set_reason(error.reason() == Reason::kNone ? v1::REASON_INTERNAL
                                                      : ToWire(error.reason()));
  // Append the hint, which tells the user what would work, to the message text, because the
  // protobuf message has no field for it.
  failure->set_message(error.Text() + (error.hint().empty() ? "" : "; " + error.hint()));
  failure->set_evidence(error.ToString());
}

Effort EffortOf(v1::Effort effort) {
  switch (effort) {
    case v1::EFFORT_QUICK:
      return Effort::kQuick;
    case v1::EFFORT_THOROUGH:
      return Effort::kThorough;
    default:
      return Effort::kStandard;
  }
}

v1::Direction ToMessage(Direction direction) {
  return direction == Direction::kHigherIsBetter ? v1::DIRECTION_HIGHER_IS_BETTER
                                                 : v1::DIRECTION_LOWER_IS_BETTER;
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

void Fill(const Metric& metric, const Summary& summary, v1::Measurement* message) {
  message->set_metric(metric.name);
  message->set_unit(metric.unit);
  message->set_direction(ToMessage(metric.direction));
  message->set_n(static_cast<int32_t>(summary.n));
  message->set_median(summary.median);
  message->set_mad(summary.mad);
  message->set_p05(summary.p05);
  message->set_p95(summary.p95);
  if (!summary.HasInterval()) return;
  message->set_ci_low(summary.ci_low);
  message->set_ci_high(summary.ci_high);
}

void Fill(const Timing& timing, const MeasuredTimes& times, v1::Method* message) {
  message->set_cache(timing.cache);
  message->set_fill(timing.fill);
  message->set_timer(timing.timer);
  message->set_batch(static_cast<int32_t>(times.batch));
  message->set_warmup_seconds(times.warmup_seconds);
  message->set_warmup_iterations(times.warmup_iterations);
  message->set_stop_reason(times.stop_reason);
  message->set_host_seconds(times.host_seconds);
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
  if (const GpuSpec* const sheet = SheetNamed(prediction.spec)) {
    message->set_spec_certainty(sheet->certainty);
  }
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
  if (counters.shared_wavefronts) message->set_shared_wavefronts(*counters.shared_wavefronts);
  if (counters.global_load_bytes) message->set_global_load_bytes(*counters.global_load_bytes);
  if (counters.sm_cycles) message->set_sm_cycles(*counters.sm_cycles);
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

}  // namespace assay
