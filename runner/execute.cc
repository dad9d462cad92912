#include "runner/execute.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "common/number_text.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/caches.h"
#include "runner/ceiling_store.h"
#include "runner/gang.h"
#include "runner/link_model_store.h"
#include "runner/link_series.h"
#include "runner/profile.h"

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

std::string FormFactor(const std::string& model) {
  if (model.find("SXM") != std::string::npos) return "SXM";
  return model.find("PCI") != std::string::npos ? "PCIe" : "";
}

const GpuSpec* SpecOf(const LocalGpu* gpu) {
  return gpu == nullptr ? nullptr : FindSpec(gpu->name, gpu->memory_bytes);
}

ReportedEnvironment EnvironmentOf(const BenchmarkInfo& info, const RunContext& context) {
  ReportedEnvironment environment;
  if (info.resource != Resource::kGpu) {
    environment.cpu_model = Cpu().model;
    environment.topology = info.resource == Resource::kNetwork ? "network" : "none";
    if (info.uses_blas) environment.software.blas = BlasVersion();
    return environment;
  }
  environment.software = Software();
  environment.gpu_count = context.world_size;
  const LocalGpu* const gpu = GpuOf(context);
  if (gpu == nullptr) return environment;
  const GpuSpec* const spec = SpecOf(gpu);
  environment.gpu_model = spec != nullptr ? spec->name : gpu->name;
  environment.gpu_form_factor = FormFactor(environment.gpu_model + gpu->name);
  environment.power_limit_watts = gpu->power_limit_watts;
  environment.ecc_enabled = gpu->ecc_enabled;
  if (context.world_size == 1) {
    environment.topology = "single";
  } else {
    environment.topology = gpu->nvlinks_active.value_or(0) > 0 ? "nvlink" : "pcie";
  }
  return environment;
}

Status VerificationFailed(const Verdict& verdict, const char* when) {
  return Status(Code::kDataLoss, "VERIFICATION_FAILED",
                std::string(when) + ": " + verdict.detail + "; error " + NumberText(verdict.error) +
                    " (" + verdict.norm + "), tolerance " + NumberText(verdict.tolerance) +
                    ", reference: " + verdict.reference);
}

// One execution: fills `report_` as it goes.
class Execution {
 public:
  Execution(const Benchmark& benchmark, const RunContext& context, const ExecuteOptions& options)
      : benchmark_(benchmark), context_(context), options_(options) {}

  CaseReport TakeReport() { return std::move(report_); }

  Status Run() {
    report_.benchmark = benchmark_.Info().name;
    report_.version = benchmark_.Info().version;
    report_.parameters = context_.parameters;
    report_.environment = EnvironmentOf(benchmark_.Info(), context_);
    report_.start_time = context_.clock->WallNow();
    Status status = Steps();
    report_.end_time = context_.clock->WallNow();
    report_.error = status;
    report_.outcome = status.ok()             ? Outcome::kOk
                      : IsUnsupported(status) ? Outcome::kUnsupported
                                              : Outcome::kFailed;
    if (!status.ok()) report_.metrics.clear();
    if (report_.outcome == Outcome::kFailed && context_.peers != nullptr) {
      report_.library_log = LibraryLog();
    }
    return status;
  }

 private:
  Status Steps() {
    Phase("verify");
    ASSAY_RETURN_IF_ERROR(Prepare());
    ASSAY_ASSIGN_OR_RETURN(machine_, LinkMachine(context_.peers, GpuOf(context_), context_));
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

  // What goes wrong on one rank is known to all: they go on together or not at all.
  Status DiagnoseGang() {
    const bool on_gpu = benchmark_.Info().resource == Resource::kGpu;
    const LocalGpu* const gpu = on_gpu ? GpuOf(context_) : nullptr;
    const RankPlace place = PlaceOf(context_, gpu != nullptr ? gpu->uuid : "");
    ASSAY_ASSIGN_OR_RETURN(report_.gang, DiagnoseRanks(*case_, context_, place, median_seconds_));
    if (report_.gang.choice && report_.gang.choice->wire_bytes > 0) AddWireMetrics();
    return Status::Ok();
  }

  // A wire bandwidth is the primary metric, a bandwidth of the link, in another unit.
  void AddWireMetrics() {
    if (report_.metrics.empty() || work_.link_bytes <= 0) return;
    const auto& declared = benchmark_.Info().metrics;
    for (auto metric = declared.begin(); metric != declared.end(); ++metric) {
      if (metric->quantity != Quantity::kWireBytes) continue;
      const double factor = report_.gang.choice->wire_bytes / work_.link_bytes;
      report_.metrics.insert(
          report_.metrics.begin() +
              std::min<std::ptrdiff_t>(metric - declared.begin(),
                                       static_cast<std::ptrdiff_t>(report_.metrics.size())),
          {*metric, Scaled(report_.metrics.front().summary, factor), {}});
    }
  }

  // Nothing here fails the case: it has been timed and verified.
  void Profile() {
    if (benchmark_.Info().resource == Resource::kGpu && context_.world_size == 1 &&
        Gpu() != nullptr) {
      const ProfiledCase profiled = {*case_, *Gpu(), context_.gpu, median_seconds_,
                                     *context_.clock};
      Phase("profile");
      KernelNames kernels = KernelNamesOf(profiled);
      report_.kernels = std::move(kernels.names);
      report_.kernels_reason = std::move(kernels.reason);
      report_.aftermath = ContextAfter("recording the names of kernels", profiled);
      if (options_.counters && report_.aftermath.ok()) {
        report_.counters = ReadCounters(SourcesFor(profiled), work_);
        report_.aftermath = ContextAfter("reading hardware counters", profiled);
      }
      return;
    }
    if (options_.counters) report_.counters = ReadCounters({}, work_);
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
    // Last: parameters that contradict each other are the user's error on every machine.
    if (const std::string reason = benchmark_.UnsupportedReason(); mine.ok() && !reason.empty()) {
      mine = Unsupported(reason);
    }
    // Nobody prepares, and so waits for the others, unless all can begin.
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

  // Standard containers report exhausted memory by an exception.
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
    ASSAY_ASSIGN_OR_RETURN(const Verdict verdict, MergeVerdicts(context_.peers, *mine));
    report_.verification = verdict;
    return verdict.passed ? Status::Ok() : VerificationFailed(verdict, when);
  }

  Status MeasureCase() {
    const bool on_gpu = benchmark_.Info().resource == Resource::kGpu;
    const auto new_sampler = [&] { return NewConditionsSampler(on_gpu ? context_.gpu : -1); };
    auto sampler = new_sampler();
    MeasureRule rule = RuleFor(benchmark_.Info().resource);
    case_->AdjustRule(&rule);
    MeasureHooks hooks;
    hooks.warmup_begins = [&] { Phase("warm_up"); };
    hooks.readings = [&] { return sampler->Readings(); };
    hooks.window_begins = [&] {
      Phase("measure");
      if (context_.rank == 0) sampler->Start();
    };
    hooks.window_ends = [&] {
      report_.conditions = sampler->Stop();
      sampler = new_sampler();  // The window may begin again.
    };
    ASSAY_ASSIGN_OR_RETURN(report_.times, MeasureOnAllRanks(*case_, rule, context_, hooks));
    // A host that others use never settles; its load has a flag of its own.
    if ((on_gpu && !report_.times.settled) || report_.times.short_samples) {
      report_.conditions.flags.push_back("unsettled");
    }
    const auto ceilings = case_->MeasureCeilings();
    ASSAY_RETURN_IF_ERROR(AgreeIfGang(context_.peers, ceilings.status()));
    ceilings_ = *ceilings;
    if (context_.rank == 0) Summarise();
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

  // The last `samples` of what the case observed.
  std::vector<double> ObservedInWindow(const std::string& metric, size_t samples) const {
    std::vector<double> values = case_->Observed(metric);
    const size_t before = values.size() - std::min(values.size(), samples);
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(before));
    return values;
  }

  void Summarise() {
    report_.timing = case_->HowTimed();
    const std::vector<double> seconds = std::move(report_.times.seconds);
    report_.times.seconds.clear();
    const auto& metrics = benchmark_.Info().metrics;
    for (size_t i = 0; i < metrics.size(); ++i) {
      std::vector<double> values = metrics[i].quantity == Quantity::kObserved
                                       ? ObservedInWindow(metrics[i].name, seconds.size())
                                       : ValuesOf(i, seconds);
      if (metrics[i].quantity == Quantity::kWireBytes) continue;  // Known later, if at all.
      if (values.empty()) continue;  // Nothing was observed: absent, not zero.
      ReportedMetric reported = {metrics[i], Summarize(values), {}};
      if (i == 0) reported.samples = std::move(values);
      report_.metrics.push_back(std::move(reported));
    }
    median_seconds_ = Summarize(seconds).median;
  }

  // The last step: it ends the case, whose memory the probes of ceilings may need.
  void MakePrediction() {
    const bool on_gpu = benchmark_.Info().resource == Resource::kGpu;
    const LocalGpu* const gpu = on_gpu ? GpuOf(context_) : nullptr;
    case_.reset();
    if (report_.timing.fill != "random") {
      LeaveOutCeilings();
    } else if (gpu != nullptr && context_.world_size == 1) {
      UseMeasuredCeilings(*gpu);
    }
    Evidence evidence;
    evidence.spec = SpecOf(gpu);
    evidence.sm_clock_mhz = report_.conditions.sm_clock_mhz;
    evidence.ceilings = ceilings_;
    if (!on_gpu) evidence.in_cache = StaysInCache();
    report_.prediction = Predict(work_, evidence, median_seconds_);
    // Nothing outruns a ceiling: it was probed while others used the machine, or what it
    // bounds came from a cache.
    constexpr double kAbove = 1.1;
    if (report_.prediction.efficiency_measured.value_or(0) > kAbove) {
      report_.conditions.flags.push_back("above_ceiling");
    }
    UseLinkModel();
  }

  // What the machine's earlier times predict; then this time is one of them.
  void UseLinkModel() {
    const double bytes = LinkBytes(work_);
    if (bytes <= 0) return;
    const std::string series = LinkSeries(benchmark_.Info(), context_.parameters);
    LinkModelStore& store = ProcessLinkModels();
    if (const auto model = store.Fit(machine_, series, bytes); model && model->Covers(bytes)) {
      report_.prediction.link_model = model;
      report_.prediction.link_model_seconds = model->Seconds(bytes);
      if (model->LeavesUnexplained(bytes, median_seconds_)) {
        report_.conditions.flags.push_back("below_model");
      }
    }
    store.Add(machine_, series, {bytes, median_seconds_});
  }

  // As benchmarks on CPUs say "hot"; they may also be told to rotate past the caches.
  bool StaysInCache() const {
    return report_.timing.cache == "hot" && StaysInCpuCaches(work_.bytes);
  }

  // All are of random data, and zeros run faster: they draw less power.
  void LeaveOutCeilings() {
    const auto fixed_seconds = ceilings_.fixed_seconds;
    ceilings_ = {};
    ceilings_.fixed_seconds = fixed_seconds;
  }

  // Those that the case measured itself come first. A broken context measures none.
  void UseMeasuredCeilings(const LocalGpu& gpu) {
    if (!report_.aftermath.ok()) return;
    if (ceilings_.flops || ceilings_.bytes || ceilings_.link_bytes) return;
    if (CeilingStore* const store = ProcessCeilings()) ceilings_ = store->For(gpu, work_);
  }

  const Benchmark& benchmark_;
  const RunContext& context_;
  const ExecuteOptions& options_;
  Work work_;
  std::unique_ptr<Case> case_;
  Ceilings ceilings_;
  double median_seconds_ = 0;
  std::string machine_;  // Of all ranks: LinkMachine.
  CaseReport report_;
};

}  // namespace

std::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "ok";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kUnsupported:
      break;
  }
  return "unsupported";
}

MeasureRule RuleFor(Resource resource) {
  MeasureRule rule;
  if (resource == Resource::kGpu) {
    // The power that NVML reads is a mean over up to a second.
    rule.min_warmup_seconds = 0.5;
    rule.settle_window_seconds = 0.1;
    rule.max_warmup_seconds = 3.0;
  } else {
    // A host that is busy with other work does not get quieter for waiting.
    rule.max_seconds = 5.0;
  }
  return rule;
}

Result<CaseReport> ExecuteCase(const Benchmark& benchmark, const RunContext& context,
                               const ExecuteOptions& options) {
  Execution execution(benchmark, context, options);
  const Status status = execution.Run();
  if (status.reason() == "PEER_LOST" || status.reason() == "PEER_TIMEOUT") return status;
  return execution.TakeReport();
}

}  // namespace assay
