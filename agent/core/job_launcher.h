// The interface through which a session with a coordinator runs jobs. Supervisor implements it by
// starting processes. Tests use a fake implementation.
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
  // Not set if every case has a result.
  std::optional<v1::Failure> failure;
  // The time from Launch to the first runner's start.
  Duration start_delay{0};
  // The time during which runners were running.
  Duration runner_time{0};
};

// Callbacks for the events of a job. All of them must be set. They are called on the job's own
// thread, one at a time. `finished` is called last.
struct JobEvents {
  // The phase is "starting", "ready", or one that the runner reports.
  std::function<void(std::string phase)> phase;
  // Called when all ranks of this node are ready and wait for LaunchedJob::Go. If rank 0 runs on
  // this node, `token` is what the other ranks need to connect to it. Otherwise `token` is empty.
  std::function<void(std::string token)> gang_ready;
  // Called with a result of the runner, completed with the agent's facts (see ResultContext).
  std::function<void(v1::CaseResult result)> result;
  std::function<void(JobOutcome outcome)> finished;
};

// A job that runs on this node. All methods may be called from any thread and return at once. The
// destructor stops the job and waits up to about two seconds for its end. Do not destroy the object
// in a callback of its own job.
class LaunchedJob {
 public:
  virtual ~LaunchedJob() = default;
  // Starts a gang whose ranks are all ready.
  virtual void Go(std::string token) = 0;
  // Ends the job with SIGTERM, and with SIGKILL if that is not enough. The job's outcome then
  // contains the failure `why`, unless the job had already failed or ended.
  virtual void Stop(v1::Failure why) = 0;
};

class JobLauncher {
 public:
  virtual ~JobLauncher() = default;
  // Never fails itself: an error becomes the failure in the job's outcome.
  virtual std::unique_ptr<LaunchedJob> Launch(v1::JobSpec spec, JobEvents events) = 0;
};

}  // namespace assay::agent
