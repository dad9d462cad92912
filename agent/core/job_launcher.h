// The interface through which the agent runs the jobs assigned by a coordinator. Supervisor
// implements it by starting processes; tests use a fake.
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
  // The reason why the job failed. Not set if every case has a result.
  std::optional<v1::Failure> failure;
  // The time from Launch to the first runner's start.
  Duration start_delay{0};
  // The time during which runners were running.
  Duration runner_time{0};
};

// Callbacks for the events of a job. All must be set. They are called one at a time on the job's
// own thread, with `finished` last.
struct JobEvents {
  // Called when the job enters a phase: "starting", "ready", or one that the runner reports.
  std::function<void(std::string phase)> phase;
  // Called when all of the job's processes (ranks) on this node are ready and waiting for
  // LaunchedJob::Go. On the node of rank 0, `token` tells the ranks on other nodes how to connect
  // to rank 0. On all other nodes, `token` is empty.
  std::function<void(std::string token)> gang_ready;
  // Called with a result of the runner, completed with the agent's facts (see ResultContext).
  std::function<void(v1::CaseResult result)> result;
  std::function<void(JobOutcome outcome)> finished;
};

// A job running on this node. All methods may be called from any thread and return immediately. The
// destructor stops the job, which may block for up to about two seconds. Do not destroy this object
// from one of the job's own callbacks.
class LaunchedJob {
 public:
  virtual ~LaunchedJob() = default;
  // Starts the measurement of a gang (a job on several nodes). Call this once the processes on all
  // nodes are ready.
  virtual void Go(std::string token) = 0;
  // Terminates the job's processes with SIGTERM, then SIGKILL if necessary. The job then fails with
  // `why`, unless it has already failed or finished.
  virtual void Stop(v1::Failure why) = 0;
};

class JobLauncher {
 public:
  virtual ~JobLauncher() = default;
  // Starts a job. Reports an error as the failure in the job's outcome.
  virtual std::unique_ptr<LaunchedJob> Launch(v1::JobSpec spec, JobEvents events) = 0;
};

}  // namespace assay::agent
