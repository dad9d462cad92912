// How the session has jobs run, without knowing processes: the supervisor implements
// it, and tests fake it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/failure.pb.h"
#include "assay/v1/inventory.pb.h"
#include "assay/v1/job.pb.h"
#include "assay/v1/result.pb.h"
#include "common/clock.h"
#include "wire/reasons.h"

namespace assay::agent {

struct JobOutcome {
  // Absent if every case has a result.
  std::optional<v1::Failure> failure;
  // From Launch to the first runner's start.
  Duration start_delay{0};
  // That runners ran.
  Duration runner_time{0};
};

// Callbacks for a job's events. Called from the job's own thread, one call at a time. All must be
// set; `finished` is the last call.
struct JobEvents {
  // "starting", "ready", or what the runner says it does.
  std::function<void(std::string phase)> phase;
  // All ranks of this node are ready and wait for LaunchedJob::Go. `token` is rank
  // 0's, empty if that rank is elsewhere.
  std::function<void(std::string token)> gang_ready;
  // The runner's result, completed with what the agent knows (see ResultContext).
  std::function<void(v1::CaseResult result)> result;
  std::function<void(JobOutcome outcome)> finished;
};

// A job on this node. Methods may be called from any thread and return at once.
// Destruction stops the job and waits for its end, about two seconds at most; call
// it from no callback of the job.
class LaunchedJob {
 public:
  virtual ~LaunchedJob() = default;
  // Starts a gang that waits with all its ranks ready.
  virtual void Go(std::string token) = 0;
  // Ends it by SIGTERM and then SIGKILL; `why` becomes the outcome's failure unless
  // the job failed or ended before.
  virtual void Stop(v1::Failure why) = 0;
};

class JobLauncher {
 public:
  virtual ~JobLauncher() = default;
  // Never fails itself: what goes wrong is the outcome's failure.
  virtual std::unique_ptr<LaunchedJob> Launch(v1::JobSpec spec, JobEvents events) = 0;
};

}  // namespace assay::agent
