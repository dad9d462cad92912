#include "agent/simulate/measurement.h"

#include <algorithm>

#include "agent/simulate/noise.h"
#include "kernels/benchmark.h"
#include "kernels/registry.h"
#include "roofline/prediction.h"
#include "runner/case_result.h"

namespace assay::agent {
namespace {

constexpr int kSamples = 40;
constexpr double kGpuSpread = 0.007;          // Standard deviation of the speed between GPUs.
constexpr double kNetworkBytes = 45e9;        // Of a 400 Gbit/s adapter.
constexpr double kFlopsPerCore = 2.4e9 * 32;  // Two 512-bit multiply-adds of fp32 a clock.
constexpr double kBytesPerSocket = 250e9;
constexpr double kLeastSeconds = 2e-6;

// The hardware that a rank runs on.
struct Hardware {
  const v1::GpuInventory* gpu = nullptr;  // Null on CPUs.
  Evidence evidence;
};

Hardware HardwareOf(const v1::NodeInventory& inventory, const v1::JobSpec& job) {
  Hardware hardware;
  const int index = job.ranks_size() == 0 ? -1 : job.ranks(0).gpu_index();
  if (index >= 0 && index < inventory.gpus_size()) {
    hardware.gpu = &inventory.gpus(index);
    hardware.evidence.spec = FindSpec(hardware.gpu->name(), hardware.gpu->memory_bytes());
    return hardware;
  }
  Ceilings& ceilings = hardware.evidence.ceilings;
  ceilings.flops = kFlopsPerCore * inventory.cpu().cores();
  ceilings.bytes = kBytesPerSocket * std::max(1, inventory.cpu().sockets());
  ceilings.link_bytes = kNetworkBytes;
  return hardware;
}

double IdealSeconds(const Work& work, const Hardware& hardware, bool over_network) {
  const Ceilings& ceilings = hardware.evidence.ceilings;
  Peaks peaks{ceilings.flops, ceilings.bytes, ceilings.link_bytes, std::nullopt};
  if (hardware.evidence.spec != nullptr) peaks = SheetPeaks(*hardware.evidence.spec, work);
  if (over_network || work.link == LinkKind::kNetwork) peaks.link_bytes = kNetworkBytes;
  if (const auto ideal = Ideal(work, peaks)) return ideal->seconds;
  // Values for caches, latencies and unknown GPUs, which the performance model does not cover.
  constexpr double kCacheBytes = 1e13;
  constexpr double kOperationSeconds = 1e-9;
  return std::max(work.payload_bytes / kCacheBytes, work.operations * kOperationSeconds);
}

void AddMeasurements(const Benchmark& benchmark, const Work& work,
                     const std::vector<double>& seconds, const v1::CaseResult& result,
                     google::protobuf::RepeatedPtrField<v1::Measurement>* measurements) {
  Timing timing;
  const auto set_if_given = [&](const char* name, std::string* value) {
    const auto found = result.parameters().find(name);
    if (found != result.parameters().end()) *value = found->second;
  };
  set_if_given("cache", &timing.cache);
  set_if_given("fill", &timing.fill);
  timing.timer = benchmark.Info().resource == Resource::kGpu ? "events" : "host_clock";
  MeasuredTimes times;
  times.seconds = seconds;
  times.warmup_seconds = 0.5;
  times.stop_reason = "confidence";
  const std::vector<Metric>& metrics = benchmark.Info().metrics;
  for (size_t i = 0; i < metrics.size(); ++i) {
    const Quantity quantity = metrics[i].quantity;
    if (quantity == Quantity::kObserved || quantity == Quantity::kWireBytes) continue;
    std::vector<double> values;
    for (const double one : seconds) values.push_back(benchmark.MetricValue(i, work, one));
    v1::Measurement* const measurement = measurements->Add();
    Fill(metrics[i], Summarize(values), measurement);
    Fill(timing, times, measurement->mutable_method());
    if (measurements->size() == 1)
      measurement->mutable_samples()->Add(values.begin(), values.end());
  }
}

// `slowness` is 1 for a healthy GPU.
v1::Conditions ConditionsOf(const v1::GpuInventory& gpu, const std::string& bound, double slowness,
                            Random* random) {
  v1::Conditions conditions;
  const double jitter = 1 + 0.01 * random->Normal();
  const double busy = bound == "compute" ? 0.95 : 0.7;
  conditions.set_sm_clock_mhz(gpu.sm_clock_max_mhz() * (bound == "compute" ? 0.88 : 1.0) /
                              std::max(1.0, slowness));
  conditions.set_memory_clock_mhz(gpu.memory_clock_max_mhz());
  conditions.set_power_watts(gpu.power_limit_watts() * busy * jitter);
  conditions.set_temperature_celsius(30 + 35 * busy * jitter);
  conditions.set_other_gpu_processes(0);
  return conditions;
}

}  // namespace

SimulatedMeasurements::SimulatedMeasurements(uint64_t seed, std::vector<Fault> faults,
                                             uint64_t first_run)
    : seed_(seed), faults_(std::move(faults)), first_run_(first_run) {}

namespace {

bool RunsOn(const v1::JobSpec& job, const std::string& node) {
  return std::find(job.node_names().begin(), job.node_names().end(), node) !=
         job.node_names().end();
}

}  // namespace

// Returns the slowness of the slowest GPU of the job. The time of the job is proportional to it.
double SimulatedMeasurements::SlownessOf(const v1::JobSpec& job) const {
  const WallTime now = Clock::Real().WallNow();
  double slowest = 0;
  // All nodes of a gang have the same placement in this model.
  for (int node = 0; node < std::max(1, job.node_ids_size()); ++node) {
    const std::string id = job.node_ids_size() == 0 ? "" : job.node_ids(node);
    const std::string name = node < job.node_names_size() ? job.node_names(node) : "";
    for (const v1::RankPlacement& rank : job.ranks()) {
      Random random(HashOf(seed_, id + "/" + std::to_string(rank.gpu_index())));
      double slowness = 1 + kGpuSpread * random.Normal();
      for (const Fault& fault : faults_) {
        const bool hit = fault.kind == Fault::Kind::kSlowGpu && fault.IsOf(name) &&
                         fault.gpu == rank.gpu_index() && now >= fault.since;
        if (hit) slowness /= fault.factor;
      }
      slowest = std::max(slowest, slowness);
    }
  }
  return slowest;
}

v1::CaseResult SimulatedMeasurements::Measure(const v1::NodeDescription& node,
                                              const v1::JobSpec& job,
                                              const v1::BenchmarkCase& one) {
  const Result<const Benchmark*> benchmark = DeclaredBenchmarks().Find(job.benchmark());
  ExecutedCase executed;
  v1::CaseResult& result = executed.result;
  result.set_case_index(one.case_index());
  *result.mutable_parameters() = one.parameters();
  Status problem = benchmark.status();
  Result<Work> work = Work();
  if (problem.ok()) {
    const auto parameters =
        CheckParameters(**benchmark, {one.parameters().begin(), one.parameters().end()});
    problem = parameters.status();
    if (problem.ok()) {
      result.clear_parameters();
      result.mutable_parameters()->insert(parameters->begin(), parameters->end());
      work = (*benchmark)->WorkOf(*parameters, job.world_size());
      problem = work.status();
    }
  }
  if (!problem.ok()) {
    SetError(problem, &executed);
    return result;
  }

  const std::map<std::string, std::string> sorted(result.parameters().begin(),
                                                  result.parameters().end());
  std::string name = job.benchmark();
  for (const auto& [key, value] : sorted) name += "," + key + "=" + value;
  const uint64_t case_seed = HashOf(seed_, name);
  std::string place = node.node_id();
  for (const v1::RankPlacement& rank : job.ranks()) place += "/" + std::to_string(rank.gpu_index());
  const uint64_t series_seed = HashOf(case_seed, place);
  const uint64_t run = first_run_ + runs_[series_seed]++;

  Hardware hardware = HardwareOf(node.inventory(), job);
  const CaseNoise noise(case_seed, series_seed);
  const WallTime now = Clock::Real().WallNow();
  const double ideal = IdealSeconds(*work, hardware, job.node_ids_size() > 1);
  const double efficiency = 0.68 + 0.24 * Random(case_seed).Uniform();
  const double slowness = SlownessOf(job);
  double base = std::max(kLeastSeconds, ideal / efficiency * slowness + work->fixed_seconds);
  for (const Fault& fault : faults_) {
    if (now < fault.since) continue;
    if (fault.kind == Fault::Kind::kSlowLink && RunsOn(job, fault.node) &&
        RunsOn(job, fault.peer)) {
      base /= fault.factor;
    }
    if (!fault.IsOf(node.name())) continue;
    if (fault.kind == Fault::Kind::kDriverStep) base /= fault.factor;
    if (fault.kind == Fault::Kind::kLyingNode) base = ideal / fault.factor;
  }
  std::vector<double> seconds = noise.SampleFactors(run, kSamples);
  for (double& sample : seconds) sample *= base * noise.RunFactor(run);

  result.set_outcome(v1::CASE_OUTCOME_OK);
  AddMeasurements(**benchmark, *work, seconds, result, result.mutable_measurements());
  result.mutable_verification()->set_passed(true);
  result.mutable_verification()->set_reference("none: simulated");
  const double median = Summarize(seconds).median;
  if (hardware.gpu != nullptr) {
    Random random(series_seed ^ run);
    *result.mutable_conditions() = ConditionsOf(
        *hardware.gpu, Predict(*work, hardware.evidence, median).bound, slowness, &random);
    hardware.evidence.sm_clock_mhz = result.conditions().sm_clock_mhz();
    result.mutable_environment()->set_clocks_locked(false);
  }
  Fill(Predict(*work, hardware.evidence, median), result.mutable_prediction());
  *result.mutable_environment()->mutable_software() = node.inventory().software();
  return result;
}

}  // namespace assay::agent
