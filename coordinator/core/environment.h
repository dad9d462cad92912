// What the coordinator's core is given from outside, so that tests give it fakes.
#pragma once

#include <string>

#include "common/clock.h"
#include "common/executor.h"
#include "storage/job_store.h"
#include "storage/node_store.h"
#include "storage/result_store.h"

namespace assay::coordinator {

// Told what happens, for metrics. Thread-safe; calls return at once.
class Observer {
 public:
  virtual ~Observer() = default;

  // A job's attempt has ended: "succeeded", "failed", "skipped", "cancelled" or
  // "requeued".
  virtual void JobEnded(const std::string& /*benchmark*/, const std::string& /*outcome*/,
                        Duration /*running*/) {}
  // What a finished job spent besides measuring: from the agent's receipt to the first
  // runner's start, and all of its duration outside of runners.
  virtual void JobOverhead(Duration /*start_delay*/, Duration /*outside_runner*/) {}
  // Results that arrived: "stored", "replayed", "stale", "rejected", "imported".
  virtual void ResultsIngested(const std::string& /*outcome*/, int /*count*/) {}
};

// Everything outlives the coordinator. Stores block, so they are called on `executor`
// alone, which needs at least two threads.
struct Environment {
  Clock& clock;
  Executor& executor;
  storage::JobStore& jobs;
  storage::ResultStore& results;
  storage::NodeStore& nodes;
  Observer& observer;
};

struct Options {
  // Names this process as the owner of leases; fresh at every start.
  std::string coordinator_id;
  Duration lease = std::chrono::seconds(30);
  Duration heartbeat = std::chrono::seconds(5);
  // How often lost notifications, expired leases and unjudged campaigns are looked for.
  Duration poll = std::chrono::seconds(3);
  // From a gang's assignment to all its agents being ready: then it fails, and its nodes
  // are free again. Longer than an agent gives its runners: it knows more of what failed.
  Duration prepare = std::chrono::seconds(75);
};

}  // namespace assay::coordinator
