#include "runner/local_case.h"

#include <memory>
#include <string>
#include <utility>

#include "host/platform.h"
#include "runner/exit_codes.h"
#include "runner/local_gang.h"
#include "runner/node_fault.h"

namespace assay {
namespace {

// Why this machine has no place for `world_size` ranks; empty if it has.
std::string NoPlaceFor(const Benchmark& benchmark, int world_size) {
  if (std::string reason = benchmark.UnsupportedReason(); !reason.empty()) return reason;
  if (benchmark.Info().resource != Resource::kGpu || world_size == 1) return "";
  const int gpus = Gpu() == nullptr ? 0 : static_cast<int>(Gpu()->Gpus().size());
  if (gpus >= world_size) return "";
  return "needs " + std::to_string(world_size) + " GPUs; this node has " + std::to_string(gpus);
}

// Of a case that this machine cannot begin.
CaseReport ReportWithout(const LocalCase& one, Outcome outcome, Status error) {
  CaseReport report;
  report.outcome = outcome;
  report.error = std::move(error);
  report.benchmark = one.benchmark->Info().name;
  report.version = one.benchmark->Info().version;
  report.parameters = one.parameters;
  return report;
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
    return InvalidArgument(info.name + " does not run on GPUs; name none");
  }
  const int ranks = WorldSizeOf(one);
  if (ranks == 1 || *one.gpu == 0) return Status::Ok();
  return InvalidArgument("--gpu " + std::to_string(*one.gpu) + ": " + info.name + " with " +
                         std::to_string(ranks) + " ranks takes GPUs 0 to " +
                         std::to_string(ranks - 1) + ", each rank its own; name none")
      .WithHint("CUDA_VISIBLE_DEVICES chooses and orders the GPUs that are numbered from 0");
}

Status CheckCounters(const LocalCase& one) {
  const BenchmarkInfo& info = one.benchmark->Info();
  const bool gpu = info.resource == Resource::kGpu;
  if (gpu && WorldSizeOf(one) == 1) return Status::Ok();
  return InvalidArgument("--counters: " + info.name +
                         (gpu ? " runs on several GPUs" : " does not run on a GPU") +
                         ", and hardware counters are read of benchmarks on one GPU; leave it out");
}

Result<CaseReport> RunHere(const LocalCase& one, const ExecuteOptions& execute) {
  const Benchmark& benchmark = *one.benchmark;
  const int world_size = WorldSizeOf(one);
  RunContext context;
  context.parameters = one.parameters;
  context.seed = one.seed;
  context.world_size = world_size;
  context.gpu = one.gpu.value_or(0);
  // Parameters that contradict each other do so on every machine, and need no other ranks.
  if (!benchmark.WorkOf(one.parameters, world_size).ok()) {
    return ExecuteCase(benchmark, context, execute);
  }
  if (benchmark.Info().resource == Resource::kGpu) {
    const Status usable = CheckGpusUsable(Gpu());
    if (!usable.ok()) return ReportWithout(one, Outcome::kFailed, usable);
  }
  const std::string reason = NoPlaceFor(benchmark, world_size);
  if (!reason.empty()) {
    return ReportWithout(one, Outcome::kUnsupported, Unsupported(reason));
  }
  std::unique_ptr<LocalGang> gang;
  if (world_size > 1) {
    ASSAY_ASSIGN_OR_RETURN(gang, StartLocalGang(benchmark.Info().name, one.parameters, world_size,
                                                one.seed, execute.measure));
    context.peers = &gang->peers();
  }
  return ExecuteCase(benchmark, context, execute);
}

int ExitCodeOf(const CaseReport& report) {
  switch (report.outcome) {
    case Outcome::kOk:
      return kExitDone;
    case Outcome::kFailed:
      // Parameters that contradict each other are the user's, as unknown ones are.
      return report.error.code() == Code::kInvalidArgument ? kExitUsage : kExitFailed;
    case Outcome::kUnsupported:
      break;
  }
  return kExitUnsupported;
}

}  // namespace assay
