#include "runner/execute.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "common/units.h"
#include "host/cpu.h"
#include "host/gpu_platform.h"
#include "kernels/cpu/blas.h"
#include "runner/gang.h"
#include "runner/measurement_cache.h"
#include "runner/profile.h"
#include "runner/rank_times.h"

namespace assay {
namespace {

const LocalGpu* GpuOf(const RunContext& context) {
  if (Gpu() == nullptr) return nullptr;
  static const std::vector<LocalGpu> gpus = Gpu()->Gpus();
  for (const LocalGpu& gpu : gpus) {
    if (gpu.ordinal == context.gpu) return &gpu;
  }
  return nullptr;
}

void FillEnvironment(const BenchmarkInfo& info, const RunContext& context,
                     v1::Environment* environment) {
  v1::SoftwareVersions* const software = environment->mutable_software();
  if (info.resource != Resource::kGpu) {
    environment->set_cpu_model(Cpu().model);
    if (info.Needs(Library::kBlas) && BlasVersion()) software->set_blas(*BlasVersion());
    return;
  }
  Fill(Software(), software);
  environment->set_gpu_count(context.world_size);
  const LocalGpu* const gpu = GpuOf(context);
  if (gpu == nullptr) return;
  environment->set_gpu_model(gpu->name);
  if (gpu->power_limit_watts) environment->set_power_limit_watts(*gpu->power_limit_watts);
  if (gpu->ecc_enabled) environment->set_ecc_enabled(*gpu->ecc_enabled);
}

Status VerificationFailed(const Verdict& verdict, const char* when) {
  return Status(Code::kDataLoss, Reason::kVerificationFailed,
                std::string(when) + ": " + verdict.detail + "; error " + NumberText(verdict.error) +
                    " (" + verdict.norm + "), tolerance " + NumberText(verdict.tolerance) +
                    ", reference: " + verdict.reference);
}

// The execution of one case, which fills `executed_` step by step.
class Execution {
 public:
  Execution(const Benchmark& benchmark, const RunContext& context, const ExecuteOptions& options)
      : benchmark_(benchmark),
        context_(context),
        options_(options),
        on_gpu_(benchmark.Info().resource == Resource::kGpu),
        gpu_(on_gpu_ ? GpuOf(context) : nullptr) {}

  ExecutedCase TakeCase() { return std::move(executed_); }

  Status Run() {
    result_.set_benchmark(benchmark_.Info().name);
    result_.set_benchmark_version(benchmark_.Info().version);
    result_.mutable_parameters()->insert(context_.parameters.begin(), context_.parameters.end());
    FillEnvironment(benchmark_.Info(), context_, result_.mutable_environment());
    Fill(context_.clock->WallNow(), result_.mutable_start_time());
    result_.set_outcome(v1::CASE_OUTCOME_OK);
    Status status = Steps();
    Fill(context_.clock->WallNow(), result_.mutable_end_time());
    if (!status.ok()) SetError(status, &executed_);
    if (result_.outcome() == v1::CASE_OUTCOME_FAILED && context_.peers != nullptr) {
      const std::string log = LibraryLog();
      if (!log.empty()) {
        result_.mutable_failure()->mutable_evidence()->append("\nNCCL's log, rank 0:\n" + log);
      }
    }
    return status;
  }

 private:
  Status Steps() {
    Phase("verify");
    ASSAY_RETURN_IF_ERROR(Prepare());
    ASSAY_ASSIGN_OR_RETURN(series_, LinkSeriesOf(benchmark_.Info(), context_, gpu_));
    ASSAY_RETURN_IF_ERROR(Check(&Case::Verify, "before timing"));
    if (!options_.measure) return Status::Ok();
    ASSAY_RETURN_IF_ERROR(MeasureCase());
    Phase("verify");
    ASSAY_RETURN_IF_ERROR(Check(&Case::VerifyLast, "after timing"));
    if (context_.peers != nullptr) ASSAY_RETURN_IF_ERROR(DiagnoseGang());
    if (context_.rank == 0) Profile();
    if (context_.rank == 0) MakePrediction();
    return Status::Ok();
  }

  // Measures how long each rank spends in the collective operation. If one rank fails, all ranks
  // return its error, so that all of them stop.
  Status DiagnoseGang() {
    const RankPlace place = PlaceOf(context_, gpu_ != nullptr ? gpu_->uuid : "");
    ASSAY_ASSIGN_OR_RETURN(const GangReport gang,
                           DiagnoseRanks(*case_, context_, place, median_seconds_));
    Fill(gang, &result_);
    if (gang.choice && gang.choice->wire_bytes > 0) AddWireMetrics(gang.choice->wire_bytes);
    return Status::Ok();
  }

  // Adds the wire bandwidth to the metrics of the result. Unlike the benchmark's primary metric,
  // which is also a bandwidth, it counts all bytes that cross the link, including protocol
  // overhead.
  void AddWireMetrics(double wire_bytes) {
    if (result_.measurements_size() == 0 || work_.link_bytes <= 0) return;
    const Summary on_wire = Scaled(primary_, wire_bytes / work_.link_bytes);
    const auto& declared = benchmark_.Info().metrics;
    for (size_t i = 0; i < declared.size(); ++i) {
      if (declared[i].quantity != Quantity::kWireBytes) continue;
      v1::Measurement* const added = result_.add_measurements();
      Fill(declared[i], on_wire, added);
      *added->mutable_method() = result_.measurements(0).method();
      auto& all = *result_.mutable_measurements();
      for (int at = all.size() - 1; at > static_cast<int>(i); --at) all.SwapElements(at, at - 1);
    }
  }

  // Records the names of the GPU kernels that the case ran and, if requested, hardware counters.
  // Errors do not fail the case, which has already been timed and verified.
  void Profile() {
    if (on_gpu_ && context_.world_size == 1 && Gpu() != nullptr) {
      const ProfiledCase profiled = {*case_, *Gpu(), context_.gpu, median_seconds_,
                                     *context_.clock};
      Phase("profile");
      const KernelNames kernels = KernelNamesOf(profiled);
      result_.mutable_kernels()->Add(kernels.names.begin(), kernels.names.end());
      result_.set_kernels_reason(kernels.reason);
      executed_.context_lost = ContextAfter("recording the names of kernels", profiled);
      if (options_.counters && executed_.context_lost.ok()) {
        Fill(ReadCounters(&profiled, work_), result_.mutable_counters());
        executed_.context_lost = ContextAfter("reading hardware counters", profiled);
      }
      return;
    }
    if (options_.counters) Fill(ReadCounters(nullptr, work_), result_.mutable_counters());
  }

  void Phase(const char* phase) {
    if (options_.on_phase) options_.on_phase(phase);
  }

  Status Prepare() {
    Status mine = CheckRanks();
    if (mine.ok()) {
      auto work = benchmark_.WorkOf(context_.parameters, context_.world_size);
      mine = work.status();
      if (work.ok()) work_ = std::move(work).value();
    }
    // Checked last, so that contradicting parameters are reported on machines without a GPU too.
    if (const std::string reason = benchmark_.UnsupportedReason(); mine.ok() && !reason.empty()) {
      mine = Unsupported(reason);
    }
    // Prepare() waits for the other ranks, so no rank calls it unless all ranks can begin.
    ASSAY_RETURN_IF_ERROR(AgreeIfGang(context_.peers, mine));
    auto prepared = PrepareOrOutOfMemory();
    const Status ready = prepared.status();
    if (ready.ok()) case_ = std::move(prepared).value();
    return AgreeIfGang(context_.peers, ready);
  }

  Status CheckRanks() {
    const bool collective = benchmark_.Info().collective;
    const int64_t wanted = collective ? Integer(context_.parameters, "ranks") : 1;
    if (wanted == context_.world_size) return Status::Ok();
    return InvalidArgument("the case is for " + std::to_string(wanted) + " ranks; the gang has " +
                           std::to_string(context_.world_size));
  }

  // Calls Prepare(). Standard containers throw if memory runs out, which is converted to an error.
  Result<std::unique_ptr<Case>> PrepareOrOutOfMemory() {
    try {
      return benchmark_.Prepare(context_);
    } catch (const std::bad_alloc&) {
      return OutOfMemory("the host has no memory left for the case");
    }
  }

  Status Check(Result<Verdict> (Case::*verify)(), const char* when) {
    const auto mine = (case_.get()->*verify)();
    ASSAY_RETURN_IF_ERROR(AgreeIfGang(context_.peers, mine.status()));
    ASSAY_ASSIGN_OR_RETURN(const GangVerdict merged, MergeVerdicts(context_.peers, *mine));
    Fill(merged.verdict, result_.mutable_verification());
    if (merged.verdict.passed) return Status::Ok();
    return VerificationFailed(merged.verdict, when).WithRank(merged.failed_rank);
  }

  Status MeasureCase() {
    const auto new_sampler = [&] {
      return NewConditionsSampler(on_gpu_ && Gpu() != nullptr ? Gpu()->NewSampler(context_.gpu)
                                                              : nullptr);
    };
    auto sampler = new_sampler();
    MeasureRule rule = RuleFor(benchmark_.Info().resource);
    case_->AdjustRule(&rule);
    ApplyEffort(options_.effort, &rule);
    MeasureHooks hooks;
    hooks.warmup_begins = [&] { Phase("warm_up"); };
    hooks.readings = [&] { return sampler->Readings(); };
    hooks.window_begins = [&] {
      Phase("measure");
      if (context_.rank == 0) sampler->Start();
    };
    WindowConditions conditions;
    hooks.window_ends = [&] {
      conditions = sampler->Stop();
      sampler = new_sampler();  // A new sampler, because the window may begin again.
    };
    ASSAY_ASSIGN_OR_RETURN(const MeasuredTimes times,
                           MeasureOnAllRanks(*case_, rule, context_, hooks));
    Fill(conditions, result_.mutable_conditions());
    // Ignore `settled` for benchmarks that do not use a GPU, because a busy host never settles. It
    // is flagged as "busy_host" instead.
    if ((on_gpu_ && !times.settled) || times.short_samples)
      result_.mutable_conditions()->add_flags("unsettled");
    const auto ceilings = case_->MeasureCeilings();
    ASSAY_RETURN_IF_ERROR(AgreeIfGang(context_.peers, ceilings.status()));
    ceilings_ = *ceilings;
    if (context_.rank == 0) Summarise(times);
    return Status::Ok();
  }

  std::vector<double> ValuesOf(size_t metric, const std::vector<double>& seconds) const {
    std::vector<double> values;
    values.reserve(seconds.size());
    for (const double time : seconds) {
      values.push_back(benchmark_.MetricValue(metric, work_, time));
    }
    return values;
  }

  // Returns the last `samples` values that the case observed. Earlier values are from the warm-up.
  std::vector<double> ObservedInWindow(const std::string& metric, size_t samples) const {
    std::vector<double> values = case_->Observed(metric);
    const size_t before = values.size() - std::min(values.size(), samples);
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(before));
    return values;
  }

  void Summarise(const MeasuredTimes& times) {
    const Timing timing = case_->HowTimed();
    fill_ = timing.fill;
    cache_ = timing.cache;
    const auto& metrics = benchmark_.Info().metrics;
    for (size_t i = 0; i < metrics.size(); ++i) {
      const std::vector<double> values =
          metrics[i].quantity == Quantity::kObserved
              ? ObservedInWindow(metrics[i].name, times.seconds.size())
              : ValuesOf(i, times.seconds);
      if (metrics[i].quantity == Quantity::kWireBytes) continue;  // See AddWireMetrics.
      if (values.empty()) continue;  // A metric that was not observed is absent, not zero.
      const Summary summary = Summarize(values);
      v1::Measurement* const measurement = result_.add_measurements();
      Fill(metrics[i], summary, measurement);
      Fill(timing, times, measurement->mutable_method());
      measurement->mutable_method()->set_effort(EffortWord(options_.effort));
      if (i != 0) continue;
      primary_ = summary;
      measurement->mutable_samples()->Add(values.begin(), values.end());
    }
    median_seconds_ = Summarize(times.seconds).median;
  }

  // Compares the measured time with what the hardware allows. Must be called last, because it
  // destroys the case to free GPU memory, which measuring the hardware's limits may require.
  void MakePrediction() {
    case_.reset();
    const bool probed = ChooseCeilings();
    Evidence evidence;
    if (gpu_ != nullptr) evidence.spec = FindSpec(gpu_->name, gpu_->memory_bytes);
    if (result_.conditions().has_sm_clock_mhz()) {
      evidence.sm_clock_mhz = result_.conditions().sm_clock_mhz();
    }
    // The data of a CPU benchmark may stay in the CPU's caches from one iteration to the next.
    evidence.in_cache = !on_gpu_ && cache_ == "hot";
    evidence.ceilings = ceilings_;
    Prediction prediction = Predict(work_, evidence, median_seconds_);
    // A result that exceeds the measured limit of the hardware by more than this factor is
    // implausible. If it is correct nevertheless, other programs were using the GPU while the limit
    // was measured, or the data came from a cache.
    constexpr double kAbove = 1.1;
    const auto above = [&] { return prediction.efficiency_measured.value_or(0) > kAbove; };
    if (above() && probed && cache_ == "cold") {
      evidence.ceilings = RaiseCeilings(*gpu_, work_, *Gpu(), ProcessCache());
      prediction = Predict(work_, evidence, median_seconds_);
    }
    if (above()) result_.mutable_conditions()->add_flags("above_ceiling");
    UseLinkModel(&prediction);
    Fill(prediction, result_.mutable_prediction());
  }

  // Predicts the time of a collective operation from times measured earlier on this machine, and
  // then adds the new time to them.
  void UseLinkModel(Prediction* prediction) {
    const double bytes = LinkBytes(work_);
    if (bytes <= 0) return;
    if (const auto model = series_.Fit(bytes, ProcessCache()); model && model->Covers(bytes)) {
      prediction->link_model = model;
      prediction->link_model_seconds = model->Seconds(bytes);
      if (model->LeavesUnexplained(bytes, median_seconds_))
        result_.mutable_conditions()->add_flags("below_model");
    }
    series_.Add({bytes, median_seconds_}, ProcessCache());
  }

  // Chooses the ceilings (the highest rates measured on this machine) for the prediction: either
  // those that the case itself measured or those from CeilingsFor(). Returns true for the latter.
  // Uses no ceilings unless the case uses random data, because a GPU that processes zeros draws
  // less power and runs faster. Measures none if the CUDA context is broken.
  bool ChooseCeilings() {
    if (fill_ != "random") {
      const auto fixed_seconds = ceilings_.fixed_seconds;
      ceilings_ = {};
      ceilings_.fixed_seconds = fixed_seconds;
    } else if (gpu_ != nullptr && context_.world_size == 1 && executed_.context_lost.ok() &&
               !ceilings_.flops && !ceilings_.bytes && !ceilings_.link_bytes) {
      ceilings_ = CeilingsFor(*gpu_, work_, *Gpu(), ProcessCache());
      return true;
    }
    return false;
  }

  const Benchmark& benchmark_;
  const RunContext& context_;
  const ExecuteOptions& options_;
  const bool on_gpu_;
  const LocalGpu* const gpu_;  // Null if the benchmark or the machine has none.
  Work work_;
  std::unique_ptr<Case> case_;
  Ceilings ceilings_;
  Summary primary_;  // Summary of the primary metric.
  double median_seconds_ = 0;
  std::string fill_;  // Timing::fill and Timing::cache.
  std::string cache_;
  LinkSeries series_;
  ExecutedCase executed_;
  v1::CaseResult& result_ = executed_.result;
};

}  // namespace

MeasureRule RuleFor(Resource resource) {
  MeasureRule rule;
  if (resource == Resource::kGpu) {
    // NVML reports power as an average over up to one second.
    rule.min_warmup_seconds = 0.5;
    rule.settle_window_seconds = 0.1;
    rule.max_warmup_seconds = 3.0;
  } else {
    rule.max_seconds = 5.0;
  }
  return rule;
}

Result<ExecutedCase> ExecuteCase(const Benchmark& benchmark, const RunContext& context,
                                 const ExecuteOptions& options) {
  Execution execution(benchmark, context, options);
  const Status status = execution.Run();
  if (IsPeerLoss(status.reason())) return status;
  return execution.TakeCase();
}

}  // namespace assay
