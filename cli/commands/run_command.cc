// assay run BENCHMARK k=v...
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/campaign_file/campaign_fields.h"
#include "cli/commands/app.h"
#include "cli/commands/fetch_results.h"
#include "cli/commands/interrupt.h"
#include "cli/commands/watch.h"
#include "common/subprocess.h"
#include "common/text.h"
#include "common/uuid.h"
#include "wire/reasons.h"
#include "wire/result_fields.h"

namespace assay::cli {
namespace {

struct RunOptions {
  std::string benchmark;
  std::vector<std::string> parameters;
  std::string agent;
  bool local = false;
  std::vector<int> gpus;
  bool counters = false;
  std::string effort;
  OutputFormat format = OutputFormat::kTable;
};

Result<std::map<std::string, std::string>> SplitParameters(const std::vector<std::string>& given) {
  std::map<std::string, std::string> parameters;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
      return InvalidArgument(Quote(text) + " must be NAME=VALUE, for example m=4096");
    }
    if (!parameters.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      return InvalidArgument("parameter " + Quote(text.substr(0, equals)) + " is given twice");
    }
  }
  return parameters;
}

// Replaces this process with the runner from the same folder. Returns only if that fails.
Result<ExitCode> RunLocally(const RunOptions& options) {
  if (options.format == OutputFormat::kCsv) {
    return InvalidArgument("--local cannot write csv; use -o table or -o json");
  }
  const std::string runner = ExecutableDirectory() + "/assay-runner";
  if (!options.gpus.empty()) {
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    std::vector<std::string> gpus;
    for (const int gpu : options.gpus) gpus.push_back(std::to_string(gpu));
    setenv("CUDA_VISIBLE_DEVICES", Join(gpus, ",").c_str(), 1);
  }
  std::vector<std::string> arguments = {runner, "run", options.benchmark, "-o",
                                        options.format == OutputFormat::kJson ? "json" : "table"};
  // GPU 0 is the first visible one. A benchmark without GPUs refuses the option.
  if (!options.gpus.empty()) arguments.insert(arguments.end(), {"--gpu", "0"});
  if (options.counters) arguments.emplace_back("--counters");
  if (!options.effort.empty()) arguments.insert(arguments.end(), {"--effort", options.effort});
  arguments.insert(arguments.end(), options.parameters.begin(), options.parameters.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(runner.c_str(), argv.data());
  return NotFound("cannot start " + runner + ": " + std::strerror(errno), Reason::kNoRunner)
      .WithHint("build it (ninja assay-runner), or use --agent HOST:PORT");
}

// Returns the effort that the user named. An empty word means the default.
v1::Effort EffortOf(const std::string& word) {
  const std::vector<std::string>& words = ChoicesOf("effort");
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return v1::EFFORT_UNSPECIFIED;
  return static_cast<v1::Effort>(found - words.begin() + v1::EFFORT_QUICK);
}

// Reads the agent's stream to its end.
Status ReadJob(Client& client, const v1::RunJobRequest& request, Interrupt& interrupt,
               std::vector<v1::StoredResult>& rows, bool& all_ok) {
  grpc::ClientContext context;
  interrupt.SetAction([&context] { context.TryCancel(); });
  const auto reader = client.stub<v1::AgentService::Stub>().RunJob(&context, request);
  v1::RunJobResponse message;
  std::string shown;
  while (reader->Read(&message)) {
    if (message.has_progress()) {
      const v1::RunningJob& job = message.progress();
      std::string line = Sanitize(request.benchmark()) + ": " + Sanitize(job.phase());
      if (job.cases_total() > 1) {
        line += ", " + std::to_string(job.cases_done()) + "/" + std::to_string(job.cases_total()) +
                " cases";
      }
      if (line != shown) PrintError(line + "\n");
      shown = line;
    } else if (message.has_case_result()) {
      all_ok = all_ok && message.case_result().outcome() == v1::CASE_OUTCOME_OK;
      for (v1::StoredResult& row : schema::SplitByMetric(message.case_result())) {
        rows.push_back(std::move(row));
      }
    } else if (message.has_failure()) {
      all_ok = false;
      PrintError("assay: the job failed: " + ReasonWord(message.failure().reason()) + ": " +
                 Sanitize(message.failure().message()) + "\n");
    }
  }
  const grpc::Status status = reader->Finish();
  interrupt.SetAction(nullptr);
  return status.ok() ? Status::Ok() : client.Explain(status);
}

Result<ExitCode> RunOnAgent(Context& context, const RunOptions& options,
                            const std::map<std::string, std::string>& parameters) {
  Interrupt interrupt;
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToAgent(options.agent, context.client));
  v1::RunJobRequest request;
  request.set_benchmark(options.benchmark);
  request.mutable_parameters()->insert(parameters.begin(), parameters.end());
  request.mutable_gpu_indices()->Add(options.gpus.begin(), options.gpus.end());
  request.set_counters(options.counters);
  request.set_effort(EffortOf(options.effort));
  std::vector<v1::StoredResult> rows;
  bool all_ok = true;
  const Status status = ReadJob(client, request, interrupt, rows, all_ok);
  if (!rows.empty() || status.ok()) PrintResults(rows, options.format);
  if (interrupt.requested()) {
    PrintError("Cancelled the job.\n");
    return interrupt.exit_code();
  }
  if (!status.ok()) return status;
  return all_ok && !rows.empty() ? kExitDone : kExitFailed;
}

v1::CampaignSpec OneBenchmark(const RunOptions& options,
                              const std::map<std::string, std::string>& parameters) {
  v1::CampaignSpec spec;
  spec.set_name("run-" + options.benchmark);
  spec.set_placement(v1::PLACEMENT_POLICY_ANY);
  spec.set_repetitions(1);
  spec.set_effort(EffortOf(options.effort));
  v1::BenchmarkMatrix* matrix = spec.add_benchmarks();
  if (options.counters) matrix->set_counters(true);
  matrix->set_benchmark(options.benchmark);
  matrix->mutable_gpu_indices()->Add(options.gpus.begin(), options.gpus.end());
  for (const auto& [name, value] : parameters) {
    v1::ParameterAxis* axis = matrix->add_axes();
    axis->set_name(name);
    axis->mutable_list()->add_values(value);
  }
  return spec;
}

// Returns the argument of `assay run` that set a field of the campaign, so that errors can name
// what the user typed. For example, "benchmarks[0].dtype[0]" was set by the argument "dtype".
// Returns an empty string if the field was not set by a single argument.
std::string ArgumentOf(std::string field) {
  constexpr std::string_view kEntry = "benchmarks[0]";
  constexpr std::string_view kOnlyValue = "[0]";
  if (!field.starts_with(kEntry)) return "";
  field.erase(0, kEntry.size());
  if (field.starts_with('.')) field.erase(0, 1);
  if (field.ends_with(kOnlyValue)) field.resize(field.size() - kOnlyValue.size());
  return field == "gpus" || field == "counters" ? "--" + field : field;
}

// Rewrites errors to name the arguments of `assay run` instead of fields of a campaign.
Status InWordsOfRun(const Status& refusal, const std::string& benchmark) {
  if (refusal.violations().empty()) return refusal;
  std::vector<Violation> violations = refusal.violations();
  for (Violation& violation : violations) violation.field = ArgumentOf(violation.field);
  return Status(refusal.code(), refusal.reason(), "cannot run " + benchmark)
      .WithViolations(std::move(violations))
      .WithHint(refusal.hint());
}

Result<ExitCode> RunOnFleet(Context& context, const RunOptions& options,
                            const std::map<std::string, std::string>& parameters) {
  Interrupt interrupt;
  ASSAY_ASSIGN_OR_RETURN(Client client, Client::ToCoordinator(context.client));
  v1::CreateCampaignRequest request;
  *request.mutable_spec() = OneBenchmark(options, parameters);
  request.set_request_id(NewUuid());
  const Result<v1::CreateCampaignResponse> response =
      client.Call(&v1::CampaignService::Stub::CreateCampaign, request);
  if (!response.ok()) return InWordsOfRun(response.status(), options.benchmark);
  ResultsQuery query;
  query.campaign = response->campaign().campaign_id();
  const ExitCode watched = WatchCampaign(
      client, query.campaign, true, interrupt,
      options.format == OutputFormat::kTable ? Summary::kOnStdout : Summary::kOnStderr);
  if (interrupt.requested() || watched == kExitUnreachable || watched == kExitRefused)
    return watched;
  ASSAY_RETURN_IF_ERROR(PrintResults(client, query, options.format));
  return watched;
}

Result<ExitCode> Run(Context& context, const RunOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const auto parameters, SplitParameters(options.parameters));
  if (options.local) return RunLocally(options);
  if (!options.agent.empty()) return RunOnAgent(context, options, parameters);
  return RunOnFleet(context, options, parameters);
}

}  // namespace

void AddRunCommand(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand(
      "run", "Run one benchmark: on the fleet, on one agent, or here without services");
  auto options = std::make_shared<RunOptions>();
  command->add_option("benchmark", options->benchmark, "Benchmark, for example cpu_gemm")
      ->required();
  command->add_option("parameters", options->parameters, "Parameters: m=4096 dtype=bf16 ...");
  CLI::Option* agent =
      command->add_option("--agent", options->agent, "Run on this agent: HOST:PORT");
  command->add_flag("--local", options->local, "Run here with assay-runner; nothing is stored")
      ->excludes(agent);
  command->add_option("--gpus", options->gpus, "GPU indices: 0,1")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(NotNegative());
  command->add_flag("--counters", options->counters,
                    "Read hardware counters too, in runs apart from the timed ones");
  command->add_option("--effort", options->effort, "Time to measure: quick, standard or thorough")
      ->check(CLI::IsMember(ChoicesOf("effort")));
  AddOutputOption(*command, options->format);
  OnRun(*command, context, options, Run);
}

}  // namespace assay::cli
