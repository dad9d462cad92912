#include "runner/commands.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <limits>
#include <string>

#include "common/text.h"
#include "gang/peer_watch.h"
#include "gang/peers.h"
#include "runner/arguments.h"
#include "runner/exit_codes.h"
#include "runner/local_case.h"
#include "runner/local_gang.h"
#include "runner/output.h"

namespace assay {
namespace {

// Redirects stdout, including that of child processes, to stderr for the lifetime of this object.
// Libraries that print to stdout, such as NCCL with NCCL_DEBUG set, would otherwise corrupt JSON
// results. Only one instance may exist at a time. Has no effect if stderr is closed.
class StdoutToStderr {
 public:
  StdoutToStderr() {
    std::fflush(stdout);
    constexpr int kFirstFree = 10;  // Above the descriptors that this program uses by number.
    kept_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, kFirstFree);
    if (kept_ < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return;
    close(kept_);
    kept_ = -1;
  }
  ~StdoutToStderr() {
    if (kept_ < 0) return;
    std::fflush(stdout);
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
  }
  StdoutToStderr(const StdoutToStderr&) = delete;
  StdoutToStderr& operator=(const StdoutToStderr&) = delete;

 private:
  int kept_ = -1;  // A duplicate of the original stdout; -1 if nothing was redirected.
};

struct RunOptions {
  LocalCase what;
  bool json = false;
  bool counters = false;
  Effort effort = Effort::kStandard;
};

// Stores the value of an option in `options`.
Status ApplyOption(const std::string& option, const std::string& value, RunOptions* options) {
  if (option == "--gpu") {
    ASSAY_ASSIGN_OR_RETURN(options->what.gpu, GpuNumber(value));
    return Status::Ok();
  }
  if (option == "--seed") {
    ASSAY_ASSIGN_OR_RETURN(const int64_t seed,
                           OptionNumber(option, value, std::numeric_limits<int64_t>::max()));
    options->what.seed = static_cast<uint64_t>(seed);
    return Status::Ok();
  }
  if (option == "--effort") {
    ASSAY_ASSIGN_OR_RETURN(options->effort, ParseEffort(value));
    return Status::Ok();
  }
  if (value != "table" && value != "json") {
    return InvalidArgument("-o: " + Quote(value) + " is not one of table, json");
  }
  options->json = value == "json";
  return Status::Ok();
}

Result<RunOptions> ParseRun(const Registry& registry, const std::vector<std::string>& arguments) {
  RunOptions options;
  ParameterMap given;
  if (arguments.empty()) return InvalidArgument("run: missing name of a benchmark");
  if (LooksLikeOption(arguments[0])) {
    return HasOption("run", arguments[0])
               ? InvalidArgument("run: the name of the benchmark must come before " + arguments[0])
               : UnknownOption(arguments[0], "run");
  }
  ASSAY_ASSIGN_OR_RETURN(options.what.benchmark, registry.Find(arguments[0]));
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "-o" || argument == "--seed" || argument == "--gpu" || argument == "--effort") {
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
  ASSAY_ASSIGN_OR_RETURN(options.what.parameters, CheckParameters(*options.what.benchmark, given));
  return options;
}

// Returns an error for a collective over several nodes, which needs a runner on each of them.
Status CheckOneNode(const LocalCase& one) {
  const auto nodes = one.parameters.find("nodes");
  const BenchmarkInfo& info = one.benchmark->Info();
  if (!info.collective || nodes == one.parameters.end() || nodes->second == "1") {
    return Status::Ok();
  }
  return InvalidArgument(info.name + " with nodes=" + nodes->second +
                             " needs an agent on each node; submit it as a campaign",
                         Reason::kSeveralNodes);
}

}  // namespace

int Refuse(const Status& status) {
  std::fprintf(stderr, "assay-runner: %s\n", ErrorText(status).c_str());
  return kExitUsage;
}

int RunCaseCommand(const Registry& registry, const std::vector<std::string>& arguments) {
  const auto options = ParseRun(registry, arguments);
  if (!options.ok()) return Refuse(options.status());
  if (const Status here = CheckOneNode(options->what); !here.ok()) return Refuse(here);
  if (const Status gpu = CheckGpu(options->what); !gpu.ok()) return Refuse(gpu);
  if (const Status read = CheckCounters(options->what); options->counters && !read.ok()) {
    return Refuse(read);
  }
  ExecuteOptions execute;
  execute.counters = options->counters;
  execute.effort = options->effort;
  if (isatty(STDERR_FILENO) != 0) {
    execute.on_phase = [](const std::string& phase) {
      std::fprintf(stderr, "assay-runner: %s\n", phase.c_str());
    };
  }
  auto executed = [&] {
    const StdoutToStderr redirected;
    return RunHere(options->what, execute);
  }();
  if (!executed.ok()) {
    std::fprintf(stderr, "assay-runner: %s\n", ErrorText(executed.status()).c_str());
    return kExitGangLost;
  }
  IdentifyHardware(options->what, &executed->result);
  const std::string text =
      options->json ? ResultAsJson(executed->result) : ResultAsTable(executed->result);
  std::fputs(text.c_str(), stdout);
  // The table contains the reason, but a program that reads the JSON may not show it to the user.
  if (options->json && executed->result.outcome() == v1::CASE_OUTCOME_UNSUPPORTED) {
    std::fprintf(stderr, "assay-runner: unsupported here: %s\n", executed->error.Text().c_str());
  }
  return ExitCodeOf(*executed);
}

int CheckCommand(const Registry& registry, const std::vector<std::string>& arguments) {
  if (arguments.empty()) return Refuse(InvalidArgument("check: missing name of a benchmark"));
  const auto benchmark = registry.Find(arguments[0]);
  if (!benchmark.ok()) return Refuse(benchmark.status());
  ParameterMap given;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const Status added = AddParameter(arguments[i], "check", &given);
    if (!added.ok()) return Refuse(added);
  }
  const auto parameters = CheckParameters(**benchmark, given);
  if (!parameters.ok()) return Refuse(parameters.status());
  LocalCase one;
  one.benchmark = *benchmark;
  one.parameters = *parameters;
  const auto work = (*benchmark)->WorkOf(*parameters, WorldSizeOf(one));
  if (work.ok()) return kExitDone;
  std::printf("%s\n", ErrorText(work.status()).c_str());
  return kExitUsage;
}

int RankCommand(const Registry& registry, const std::vector<std::string>& arguments) {
  const auto options = ParseRun(registry, arguments);
  if (!options.ok()) return Refuse(options.status());
  std::string line;
  std::getline(std::cin, line);
  const auto order = RankOrder::Parse(line);
  if (!order.ok()) return Refuse(order.status());
  StopWithStdin();
  // Flush stdout after every line, so that the output of libraries is not lost if this process is
  // killed.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto peers =
      JoinPeers(order->token, order->rank, order->world_size, std::chrono::seconds(60));
  RunContext context;
  context.parameters = options->what.parameters;
  context.seed = order->seed;
  context.rank = order->rank;
  context.world_size = order->world_size;
  context.gpu = order->rank;
  ExecuteOptions execute;
  execute.measure = order->measure;
  Status status = peers.status();
  if (peers.ok()) {
    context.peers = peers->get();
    // Send heartbeats to rank 0, but never report rank 0 as lost, because the user may suspend it.
    HeartbeatRule rule;
    rule.patience = rule.first_patience = std::numeric_limits<int>::max();
    const PeerWatch watch(context.peers->Heartbeats(), {}, rule);
    const auto executed = ExecuteCase(*options->what.benchmark, context, execute);
    if (executed.ok()) return ExitCodeOf(*executed);
    status = executed.status();
  }
  std::fprintf(stderr, "assay-runner: %s\n", status.ToString().c_str());
  return kExitGangLost;
}

}  // namespace assay
