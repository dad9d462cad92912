#include "kernels/runner/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "common/units.h"
#include "kernels/net/peer_watch.h"
#include "kernels/runner/execute.h"
#include "kernels/runner/exit_codes.h"
#include "kernels/runner/local_gang.h"
#include "kernels/runner/node_fault.h"
#include "kernels/runner/output.h"

namespace assay {
namespace {

struct RunOptions {
  const Benchmark* benchmark = nullptr;
  ParameterMap parameters;  // Canonical.
  bool json = false;
  uint64_t seed = 1;
  std::optional<int> gpu;
  bool counters = false;
};

// The options of `command`, which UnknownOption names as its caller does.
std::vector<std::string> OptionsOf(const std::string& command) {
  if (command == "run") return {"-o", "--seed", "--gpu", "--counters", "--help"};
  if (command == "assay-runner") return {"--help", "--version"};
  return {"--help"};
}

// Stores what an option says; `value` is its argument.
Status ApplyOption(const std::string& option, const std::string& value, RunOptions* options) {
  if (option == "-o") {
    if (value != "table" && value != "json") {
      return InvalidArgument("-o: \"" + value + "\" is not one of table, json");
    }
    options->json = value == "json";
    return Status::Ok();
  }
  const auto number = ParseInteger(value);
  const int64_t most = option == "--gpu" ? 4096 : std::numeric_limits<int64_t>::max();
  if (!number.ok() || *number < 0 || *number > most) {
    return InvalidArgument(option + ": \"" + value + "\" is not a whole number from 0 to " +
                           std::to_string(most));
  }
  if (option == "--seed") options->seed = static_cast<uint64_t>(*number);
  if (option == "--gpu") options->gpu = static_cast<int>(*number);
  return Status::Ok();
}

// Takes NAME=VALUE of `command` in.
Status AddParameter(const std::string& argument, const std::string& command, ParameterMap* given) {
  if (LooksLikeOption(argument)) return UnknownOption(argument, command);
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument("\"" + argument + "\" is neither NAME=VALUE nor an option of `" +
                           command + "`");
  }
  const std::string name = argument.substr(0, equals);
  if (given->emplace(name, argument.substr(equals + 1)).second) return Status::Ok();
  return InvalidArgument("the parameter \"" + name + "\" is given twice");
}

Result<RunOptions> ParseRun(const Registry& registry, const std::vector<std::string>& arguments) {
  RunOptions options;
  ParameterMap given;
  if (arguments.empty()) return InvalidArgument("run: the benchmark's name is missing");
  if (LooksLikeOption(arguments[0])) {
    const std::vector<std::string> own = OptionsOf("run");
    const bool known = std::find(own.begin(), own.end(), arguments[0]) != own.end();
    return known ? InvalidArgument("run: the benchmark's name comes before " + arguments[0])
                 : UnknownOption(arguments[0], "run");
  }
  ASSAY_ASSIGN_OR_RETURN(options.benchmark, registry.Find(arguments[0]));
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "-o" || argument == "--seed" || argument == "--gpu") {
      if (++i == arguments.size()) return InvalidArgument(argument + " needs a value");
      ASSAY_RETURN_IF_ERROR(ApplyOption(argument, arguments[i], &options));
      continue;
    }
    if (argument == "--counters") {
      options.counters = true;
      continue;
    }
    ASSAY_RETURN_IF_ERROR(AddParameter(argument, "run", &given));
  }
  ASSAY_ASSIGN_OR_RETURN(options.parameters,
                         CanonicalParameters(options.benchmark->Info().parameters, given));
  return options;
}

// A collective over several nodes has a runner on each of them.
Status CheckOneNode(const RunOptions& options) {
  const auto nodes = options.parameters.find("nodes");
  const BenchmarkInfo& info = options.benchmark->Info();
  if (!info.collective || nodes == options.parameters.end() || nodes->second == "1") {
    return Status::Ok();
  }
  return InvalidArgument(info.name + " over " + nodes->second +
                             " nodes is no job for one runner: it needs agents on them, and a "
                             "campaign on their coordinator",
                         "SEVERAL_NODES");
}

int WorldSizeOf(const Benchmark& benchmark, const ParameterMap& parameters) {
  return benchmark.Info().collective ? static_cast<int>(Integer(parameters, "ranks")) : 1;
}

// A GPU that is named is one that the case can be on.
Status CheckGpu(const RunOptions& options) {
  if (!options.gpu) return Status::Ok();
  const BenchmarkInfo& info = options.benchmark->Info();
  if (info.resource != Resource::kGpu) {
    return InvalidArgument(info.name + " does not run on GPUs; name none");
  }
  const int ranks = WorldSizeOf(*options.benchmark, options.parameters);
  if (ranks == 1 || *options.gpu == 0) return Status::Ok();
  return InvalidArgument("--gpu " + std::to_string(*options.gpu) + ": " + info.name + " with " +
                         std::to_string(ranks) + " ranks takes GPUs 0 to " +
                         std::to_string(ranks - 1) + ", each rank its own; name none")
      .WithHint("CUDA_VISIBLE_DEVICES chooses and orders the GPUs that are numbered from 0");
}

// Why this machine has no place for `world_size` ranks; empty if it has.
std::string NoPlaceFor(const Benchmark& benchmark, int world_size) {
  if (std::string reason = benchmark.UnsupportedReason(); !reason.empty()) return reason;
  if (benchmark.Info().resource != Resource::kGpu || world_size == 1) return "";
  const int gpus = Gpu() == nullptr ? 0 : static_cast<int>(Gpu()->Gpus().size());
  if (gpus >= world_size) return "";
  return "needs " + std::to_string(world_size) + " GPUs; this node has " + std::to_string(gpus);
}

// Of a case that this machine cannot begin.
CaseReport ReportWithout(const RunOptions& options, Outcome outcome, Status error) {
  CaseReport report;
  report.outcome = outcome;
  report.error = std::move(error);
  report.benchmark = options.benchmark->Info().name;
  report.version = options.benchmark->Info().version;
  report.parameters = options.parameters;
  return report;
}

// Runs the case here, with as many ranks as it asks for.
Result<CaseReport> RunHere(const RunOptions& options, const ExecuteOptions& execute) {
  const Benchmark& benchmark = *options.benchmark;
  const int world_size = WorldSizeOf(benchmark, options.parameters);
  RunContext context;
  context.parameters = options.parameters;
  context.seed = options.seed;
  context.world_size = world_size;
  context.gpu = options.gpu.value_or(0);
  // Parameters that contradict each other do so on every machine, and need no other ranks.
  if (!benchmark.WorkOf(options.parameters, world_size).ok()) {
    return ExecuteCase(benchmark, context, execute);
  }
  if (benchmark.Info().resource == Resource::kGpu) {
    const Status usable = CheckGpusUsable(Gpu());
    if (!usable.ok()) return ReportWithout(options, Outcome::kFailed, usable);
  }
  const std::string reason = NoPlaceFor(benchmark, world_size);
  if (!reason.empty()) {
    return ReportWithout(options, Outcome::kUnsupported, Unsupported(reason));
  }
  std::unique_ptr<LocalGang> gang;
  if (world_size > 1) {
    ASSAY_ASSIGN_OR_RETURN(gang, StartLocalGang(benchmark.Info().name, options.parameters,
                                                world_size, options.seed, execute.measure));
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

// A benchmark with the parameters of its self-test, but for those that are given.
struct Selftest {
  const Benchmark* benchmark = nullptr;
  ParameterMap given;
  ParameterMap parameters;  // Canonical.

  // "softmax columns=31 variant=warp"
  std::string Text() const {
    std::string text = benchmark->Info().name;
    for (const auto& [name, value] : given) text += " " + name + "=" + value;
    return text;
  }
};

// [NAME [k=v...]]...; without any, every benchmark.
Result<std::vector<Selftest>> ParseSelftests(const Registry& registry,
                                             const std::vector<std::string>& arguments) {
  std::vector<Selftest> chosen;
  for (const std::string& argument : arguments) {
    if (LooksLikeOption(argument)) return UnknownOption(argument, "selftest");
    if (!chosen.empty() && argument.find('=') != std::string::npos) {
      ASSAY_RETURN_IF_ERROR(AddParameter(argument, "selftest", &chosen.back().given));
      continue;
    }
    ASSAY_ASSIGN_OR_RETURN(const Benchmark* const benchmark, registry.Find(argument));
    chosen.push_back({benchmark, {}, {}});
  }
  for (const auto& benchmark : registry.All()) {
    if (arguments.empty()) chosen.push_back({benchmark.get(), {}, {}});
  }
  for (Selftest& one : chosen) {
    const BenchmarkInfo& info = one.benchmark->Info();
    ParameterMap wanted = info.selftest_parameters;
    for (const auto& [name, value] : one.given) wanted[name] = value;
    ASSAY_ASSIGN_OR_RETURN(one.parameters, CanonicalParameters(info.parameters, wanted));
  }
  return chosen;
}

}  // namespace

int Refuse(const Status& status) {
  std::fprintf(stderr, "assay-runner: %s\n", ErrorText(status).c_str());
  return kExitUsage;
}

bool LooksLikeOption(const std::string& argument) {
  return argument.size() > 1 && argument[0] == '-';
}

Status UnknownOption(const std::string& argument, const std::string& command) {
  const std::vector<std::string> options = OptionsOf(command);
  std::string list;
  for (const std::string& option : options) list += (list.empty() ? "" : ", ") + option;
  return InvalidArgument("\"" + argument + "\" is no option of `" + command + "`; " +
                         (options.size() == 1 ? "its only one is " : "there are ") + list);
}

int RunCaseCommand(const Registry& registry, const std::vector<std::string>& arguments) {
  const auto options = ParseRun(registry, arguments);
  if (!options.ok()) return Refuse(options.status());
  if (const Status here = CheckOneNode(*options); !here.ok()) return Refuse(here);
  if (const Status gpu = CheckGpu(*options); !gpu.ok()) return Refuse(gpu);
  ExecuteOptions execute;
  execute.counters = options->counters;
  if (isatty(STDERR_FILENO) != 0) {
    execute.on_phase = [](const std::string& phase) {
      std::fprintf(stderr, "assay-runner: %s\n", phase.c_str());
    };
  }
  const auto report = RunHere(*options, execute);
  if (!report.ok()) {
    std::fprintf(stderr, "assay-runner: %s\n", ErrorText(report.status()).c_str());
    return kExitGangLost;
  }
  std::fputs((options->json ? ReportAsJson(*report) : ReportAsTable(*report)).c_str(), stdout);
  // The table says it; JSON may go where nobody reads it at once.
  if (options->json && report->outcome == Outcome::kUnsupported) {
    std::fprintf(stderr, "assay-runner: unsupported here: %s\n", report->error.message().c_str());
  }
  return ExitCodeOf(*report);
}

int CheckCommand(const Registry& registry, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return Refuse(InvalidArgument("check: the benchmark's name is missing"));
  const auto benchmark = registry.Find(arguments[0]);
  if (!benchmark.ok()) return Refuse(benchmark.status());
  ParameterMap given;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const Status added = AddParameter(arguments[i], "check", &given);
    if (!added.ok()) return Refuse(added);
  }
  const auto parameters = CanonicalParameters((*benchmark)->Info().parameters, given);
  if (!parameters.ok()) return Refuse(parameters.status());
  const auto work = (*benchmark)->WorkOf(*parameters, WorldSizeOf(**benchmark, *parameters));
  if (work.ok()) return kExitDone;
  std::printf("%s\n", ErrorText(work.status()).c_str());
  return kExitUsage;
}

int SelftestCommand(const Registry& registry, const std::vector<std::string>& arguments) {
  const auto chosen = ParseSelftests(registry, arguments);
  if (!chosen.ok()) return Refuse(chosen.status());
  int code = kExitDone;
  for (const Selftest& one : *chosen) {
    RunOptions options;
    options.benchmark = one.benchmark;
    options.parameters = one.parameters;
    ExecuteOptions execute;
    execute.measure = false;
    const auto report = RunHere(options, execute);
    // A failure outweighs parameters that contradict each other; unsupported is neither.
    const int ended = report.ok() ? ExitCodeOf(*report) : kExitFailed;
    if (ended == kExitFailed || (ended == kExitUsage && code == kExitDone)) code = ended;
    const Status error = report.ok() ? report->error : report.status();
    std::printf("%-24s %s%s\n", one.Text().c_str(),
                report.ok() ? std::string(OutcomeName(report->outcome)).c_str() : "failed",
                error.ok() ? "" : (": " + error.message()).c_str());
    std::fflush(stdout);
  }
  return code;
}

int RankCommand(const Registry& registry, const std::vector<std::string>& arguments) {
  const auto options = ParseRun(registry, arguments);
  if (!options.ok()) return Refuse(options.status());
  std::string line;
  std::getline(std::cin, line);
  const auto order = RankOrder::Parse(line);
  if (!order.ok()) return Refuse(order.status());
  StopWithStdin();
  const auto peers =
      JoinPeers(order->token, order->rank, order->world_size, std::chrono::seconds(60));
  RunContext context;
  context.parameters = options->parameters;
  context.seed = order->seed;
  context.rank = order->rank;
  context.world_size = order->world_size;
  context.gpu = order->rank;
  ExecuteOptions execute;
  execute.measure = order->measure;
  Status status = peers.status();
  if (peers.ok()) {
    context.peers = peers->get();
    // It only tells rank 0 that this one lives: rank 0 may be stopped at its terminal.
    HeartbeatRule rule;
    rule.patience = rule.first_patience = std::numeric_limits<int>::max();
    const PeerWatch watch(context.peers->Heartbeats(), {}, rule);
    const auto report = ExecuteCase(*options->benchmark, context, execute);
    if (report.ok()) return ExitCodeOf(*report);
    status = report.status();
  }
  std::fprintf(stderr, "assay-runner: rank %d: %s\n", order->rank, status.ToString().c_str());
  return kExitGangLost;
}

}  // namespace assay
