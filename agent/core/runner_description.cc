#include "agent/core/runner_description.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "agent/core/rank_process.h"
#include "common/units.h"

namespace assay::agent {

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

}  // namespace assay::agent
