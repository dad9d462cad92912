#include "agent/core/runner_query.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "agent/core/rank_process.h"
#include "agent/core/runner_environment.h"
#include "common/log.h"
#include "common/subprocess.h"
#include "common/units.h"

namespace assay::agent {
namespace {

// The runner's exit code if benchmark parameters contradict each other. The runner also uses this
// code for unknown commands, but then its error message begins with kRefusal.
constexpr int kExitUsage = 2;
constexpr const char* kRefusal = "assay-runner: ";

}  // namespace

Result<v1::RunnerDescription> DescribeRunner(const std::string& runner, Duration timeout) {
  ASSAY_ASSIGN_OR_RETURN(
      RankProcess process,
      RankProcess::Spawn({runner, "describe", RunnerEnvironment(/*visible_gpus=*/std::nullopt)}));
  process.CloseInput();
  const MonotonicTime deadline = std::chrono::steady_clock::now() + timeout;
  std::optional<v1::RunnerDescription> description;
  std::optional<ExitStatus> exit;
  const std::string what = runner + " describe";
  while (!exit) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        deadline - MonotonicTime(std::chrono::steady_clock::now()));
    if (left.count() <= 0) {
      return Unavailable(what + " gave no answer within " + FormatDuration(timeout),
                         Reason::kRunnerUnusable);
    }
    std::vector<pollfd> fds;
    process.AddPollFds(&fds);
    ::poll(fds.data(), fds.size(), static_cast<int>(std::min<int64_t>(left.count(), 60'000)));
    exit = process.Exited();
    const Status status = process.Service([&](const v1::RunnerEvent& event) {
      if (!event.has_description() || description) {
        return Internal("it sent something other than one description");
      }
      description = event.description();
      return Status::Ok();
    });
    if (!status.ok()) return status.WithContext(what);
  }
  if (!exit->ok() || !description) {
    return Unavailable(what + (exit->ok() ? " said nothing" : " " + exit->ToString()) +
                           "; output: " + process.OutputTail(),
                       Reason::kRunnerUnusable);
  }
  return *std::move(description);
}

Status CheckParameters(const std::string& runner, const std::string& benchmark,
                       const ParameterMap& parameters, Duration timeout) {
  SubprocessOptions options;
  options.argv = {runner, "check", benchmark};
  for (const auto& [name, value] : parameters) options.argv.push_back(name + "=" + value);
  options.environment = RunnerEnvironment(/*visible_gpus=*/std::nullopt);
  Result<CommandOutput> told = RunCommand(std::move(options), timeout);
  if (told.ok() && told->exit.ok()) return Status::Ok();
  const bool contradiction = told.ok() && told->exit.signal == 0 && told->exit.code == kExitUsage &&
                             !told->output.empty() && !told->output.starts_with(kRefusal);
  if (!contradiction) {
    Log().warn("{} check {}: {}", runner, benchmark,
               told.ok() ? told->exit.ToString() + ": " + told->output : told.status().message());
    return Status::Ok();
  }
  if (told->output.ends_with('\n')) told->output.pop_back();
  return InvalidArgument(benchmark + ": " + told->output, Reason::kInvalidParameter);
}

}  // namespace assay::agent
