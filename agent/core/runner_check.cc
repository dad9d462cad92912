#include "agent/core/runner_check.h"

#include <utility>

#include "agent/core/rank_process.h"
#include "common/log.h"
#include "common/subprocess.h"

namespace assay::agent {
namespace {

// The runner's exit code for contradicting parameters, and for a command that it does not know; in
// the latter case its message starts with its name.
constexpr int kExitUsage = 2;
constexpr const char* kRefusal = "assay-runner: ";

}  // namespace

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
