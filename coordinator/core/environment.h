// The dependencies of the coordinator's core, injected so that tests can replace them.
#pragma once

#include <string>

#include "common/clock.h"
#include "common/executor.h"
#include "storage/job_store.h"
#include "storage/node_store.h"
#include "storage/result_store.h"

namespace assay::coordinator {

// Receives events for metrics. Thread-safe; calls return at once.
class Observer {
 public:
  virtual ~Observer() = default;

  // Reports the end of a job's attempt: "succeeded", "failed", "skipped", "cancelled" or
  // "requeued".
  virtual void JobEnded(const std::string& /*benchmark*/, const std::string& /*outcome*/,
                        Duration /*running*/) {}
  // Reports what a finished job spent besides measuring: the time from the agent's receipt to the
  // first runner's start, and the job's total time outside runners.
  virtual void JobOverhead(Duration /*start_delay*/, Duration /*outside_runner*/) {}
  // Reports arrived results: "stored", "replayed", "stale", "rejected" or "imported".
  virtual void ResultsIngested(const std::string& /*outcome*/, int /*count*/) {}
};

// Everything in it outlives the coordinator. Stores block, so they are called on `executor` alone,
// which needs at least two threads.
struct Environment {
  Clock& clock;
  Executor& executor;
  storage::JobStore& jobs;
  storage::ResultStore& results;
  storage::NodeStore& nodes;
  Observer& observer;
};

struct Options {
  // Identifies this process as the owner of leases; new at every start.
  std::string coordinator_id;
  Duration lease = std::chrono::seconds(30);
  Duration heartbeat = std::chrono::seconds(5);
  // Interval for finding lost notifications, expired leases and campaigns without a verdict.
  Duration poll = std::chrono::seconds(3);
  // Time from a gang's assignment until all its agents must be ready. Then the attempt fails and
  // its nodes are free again. It is longer than an agent's own limit for its runners, so that the
  // agent, which knows more about the failure, reports it first.
  Duration prepare = std::chrono::seconds(75);
};

}  // namespace assay::coordinator
