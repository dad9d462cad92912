// The interface by which a session runs jobs. The supervisor implements it with processes; tests
// use a fake.
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
  // The time from Launch to the first runner's start.
  Duration start_delay{0};
  // The time that runners ran.
  Duration runner_time{0};
};

// Callbacks for a job's events. Called from the job's own thread, one call at a time. All must be
// set; `finished` is the last call.
struct JobEvents {
  // The phase is "starting", "ready", or one that the runner reports.
  std::function<void(std::string phase)> phase;
  // All ranks of this node are ready and wait for LaunchedJob::Go. `token` comes from rank 0; it is
  // empty if rank 0 is on another node.
  std::function<void(std::string token)> gang_ready;
  // The runner's result, completed with the agent's facts (see ResultContext).
  std::function<void(v1::CaseResult result)> result;
  std::function<void(JobOutcome outcome)> finished;
};

// A job on this node. Methods may be called from any thread and return at once. Destruction stops
// the job and waits for its end, about two seconds at most. Do not destroy it in a callback of the
// job.
class LaunchedJob {
 public:
  virtual ~LaunchedJob() = default;
  // Starts a gang whose ranks are all ready.
  virtual void Go(std::string token) = 0;
  // Ends the job with SIGTERM and then SIGKILL. `why` becomes the outcome's failure unless the job
  // has already failed or ended.
  virtual void Stop(v1::Failure why) = 0;
};

class JobLauncher {
 public:
  virtual ~JobLauncher() = default;
  // Never fails itself: errors become the outcome's failure.
  virtual std::unique_ptr<LaunchedJob> Launch(v1::JobSpec spec, JobEvents events) = 0;
};

}  // namespace assay::agent
