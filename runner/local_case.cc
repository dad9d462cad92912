#include "runner/local_case.h"

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "host/gpu_model.h"
#include "host/gpu_platform.h"
#include "host/nvml.h"
#include "runner/exit_codes.h"
#include "runner/local_gang.h"
#include "runner/node_fault.h"

namespace assay {
namespace {

// Returns the reason why this machine cannot run `world_size` ranks, or an empty string if it can.
std::string NoPlaceFor(const Benchmark& benchmark, int world_size) {
  if (std::string reason = benchmark.UnsupportedReason(); !reason.empty()) return reason;
  if (benchmark.Info().resource != Resource::kGpu || world_size == 1) return "";
  const int gpus = Gpu() == nullptr ? 0 : static_cast<int>(Gpu()->Gpus().size());
  if (gpus >= world_size) return "";
  return "needs " + std::to_string(world_size) + " GPUs; this node has " + std::to_string(gpus);
}

}  // namespace

int WorldSizeOf(const LocalCase& one) {
  const bool collective = one.benchmark->Info().collective;
  return collective ? static_cast<int>(Integer(one.parameters, "ranks")) : 1;
}

Status CheckGpu(const LocalCase& one) {
  if (!one.gpu) return Status::Ok();
  const BenchmarkInfo& info = one.benchmark->Info();
  if (info.resource != Resource::kGpu) {
    return InvalidArgument("--gpu: " + info.name + " does not run on a GPU");
  }
  const int ranks = WorldSizeOf(one);
  if (ranks == 1 || *one.gpu == 0) return Status::Ok();
  return InvalidArgument("--gpu: " + info.name + " with ranks=" + std::to_string(ranks) +
                         " uses GPUs 0 to " + std::to_string(ranks - 1) + ", one per rank")
      .WithHint("CUDA_VISIBLE_DEVICES selects and orders the GPUs");
}

Status CheckCounters(const LocalCase& one) {
  const BenchmarkInfo& info = one.benchmark->Info();
  const bool gpu = info.resource == Resource::kGpu;
  if (gpu && WorldSizeOf(one) == 1) return Status::Ok();
  return InvalidArgument("--counters: " + info.name +
                         (gpu ? " runs on several GPUs" : " does not run on a GPU") +
                         "; hardware counters need a benchmark on one GPU");
}

Result<ExecutedCase> RunHere(const LocalCase& one, const ExecuteOptions& execute) {
  const Benchmark& benchmark = *one.benchmark;
  const int world_size = WorldSizeOf(one);
  RunContext context;
  context.parameters = one.parameters;
  context.seed = one.seed;
  context.world_size = world_size;
  context.gpu = one.gpu.value_or(0);
  // If the parameters contradict each other, run the case in this process only, to report the
  // contradiction. This requires neither a GPU nor other ranks.
  if (!benchmark.WorkOf(one.parameters, world_size).ok()) {
    return ExecuteCase(benchmark, context, execute);
  }
  if (benchmark.Info().resource == Resource::kGpu) {
    const Status usable = CheckGpusUsable(Gpu());
    if (!usable.ok()) return CaseNotBegun(benchmark.Info(), one.parameters, usable);
  }
  const std::string reason = NoPlaceFor(benchmark, world_size);
  if (!reason.empty()) {
    return CaseNotBegun(benchmark.Info(), one.parameters, Unsupported(reason));
  }
  std::unique_ptr<LocalGang> gang;
  if (world_size > 1) {
    ASSAY_ASSIGN_OR_RETURN(gang, StartLocalGang(benchmark.Info().name, one.parameters, world_size,
                                                one.seed, execute.measure));
    context.peers = &gang->peers();
  }
  return ExecuteCase(benchmark, context, execute);
}

void IdentifyHardware(const LocalCase& one, v1::CaseResult* result) {
  v1::Environment* const environment = result->mutable_environment();
  const GpuModel gpu = ParseGpuName(environment->gpu_model());
  environment->set_gpu_model(gpu.model);
  environment->set_gpu_form_factor(gpu.form_factor);
  environment->set_node_count(1);
  const Resource resource = one.benchmark->Info().resource;
  if (resource == Resource::kNetwork) return environment->set_topology("network");
  if (resource == Resource::kCpu) return environment->set_topology(TopologyClass({}, {}));
  const int ranks = WorldSizeOf(one);
  if (ranks == 1) return environment->set_topology(TopologyClass({one.gpu.value_or(0)}, {}));
  const auto nvml = Nvml::Open(nullptr);
  if (!nvml.ok() || Gpu() == nullptr) return;
  std::set<int> gpus;  // NVML's numbers.
  for (const LocalGpu& local : Gpu()->Gpus()) {
    const auto index = local.ordinal < ranks ? (*nvml)->FindByUuid(local.uuid) : std::nullopt;
    if (index) gpus.insert(*index);
  }
  if (static_cast<int>(gpus.size()) == ranks) {
    environment->set_topology(TopologyClass(gpus, (*nvml)->Links()));
  }
}

int ExitCodeOf(const ExecutedCase& executed) {
  switch (executed.result.outcome()) {
    case v1::CASE_OUTCOME_OK:
      return kExitDone;
    case v1::CASE_OUTCOME_UNSUPPORTED:
      return kExitUnsupported;
    default:
      // Contradicting parameters are an error of the command line, like unknown parameters.
      return executed.error.code() == Code::kInvalidArgument ? kExitUsage : kExitFailed;
  }
}

}  // namespace assay
