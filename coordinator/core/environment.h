// The dependencies of the coordinator's core, injected so that tests can replace them.
#pragma once

#include <string>

#include "common/clock.h"
#include "common/executor.h"
#include "storage/analysis_store.h"
#include "storage/fleet_store.h"
#include "storage/identity_store.h"
#include "storage/job_store.h"
#include "storage/node_store.h"
#include "storage/result_store.h"
#include "storage/schedule_store.h"
#include "storage/work_store.h"

namespace assay::coordinator {

// Receives events for metrics. Thread-safe; calls return at once.
class Observer {
 public:
  virtual ~Observer() = default;

  // Called when a job is assigned, so that the counters for its benchmark exist before the first
  // job ends.
  virtual void JobStarted(const std::string& /*benchmark*/) {}
  // Called when an attempt to run a job has ended. `running` is how long it ran. The outcome is
  // "succeeded", "failed", "skipped", "cancelled" or "requeued".
  virtual void JobEnded(const std::string& /*benchmark*/, const std::string& /*outcome*/,
                        Duration /*running*/) {}
  // Called when a job has finished, to report the time not spent measuring:
  // - `start_delay` is the time from the job's arrival at the agent to the start of its first
  //   runner process.
  // - `outside_runner` is the part of the job's total time in which no runner process ran.
  virtual void JobOverhead(Duration /*start_delay*/, Duration /*outside_runner*/) {}
  // Reports arrived results: "stored", "replayed", "stale", "rejected" or "imported".
  virtual void ResultsIngested(const std::string& /*outcome*/, int /*count*/) {}
  // Called when a run of a schedule was due. The outcome is "created", "skipped" or "failed".
  virtual void ScheduleRan(const std::string& /*outcome*/) {}
};

// The dependencies of a Coordinator, all of which must outlive it. The methods of the stores block,
// so call them only on `executor`, which needs at least two threads.
struct Environment {
  Clock& clock;
  Executor& executor;
  storage::JobStore& jobs;
  storage::ResultStore& results;
  storage::NodeStore& nodes;
  storage::FleetStore& fleet;
  storage::WorkStore& work;
  storage::AnalysisStore& analysis;
  storage::ScheduleStore& schedules;
  Observer& observer;
  // Null if the coordinator has no authority.
  storage::IdentityStore* identities = nullptr;
};

struct Options {
  // Identifies this process as the owner of leases; new at every start.
  std::string coordinator_id;
  Duration lease = std::chrono::seconds(30);
  Duration heartbeat = std::chrono::seconds(5);
  // Time for which an agent keeps running a job while the coordinator or its database is
  // unavailable. Meanwhile, another node may start the same job, because the job's lease in the
  // database expires earlier. Only one of these attempts counts, because each has its own number
  // (its epoch).
  Duration outage = std::chrono::minutes(5);
  // Interval of the poll that finds expired leases, campaigns without a verdict, and work whose
  // notification was lost.
  Duration poll = std::chrono::seconds(3);
  // Time limit for all agents of a multi-node job to become ready to start. When it expires, the
  // attempt fails and its nodes are freed. The agents' own limit is shorter, because an agent knows
  // the cause of a delay and should report it first.
  Duration prepare = std::chrono::seconds(75);
  // Reruns that confirm regressions, as a fraction of all runs. 0: none.
  double rerun_share = 0.02;
  // Time between two reruns of the same measurement. If they were closer together, both could be
  // affected by the same disturbance.
  Duration rerun_spacing = std::chrono::minutes(10);
  // Age from which the state of the fleet is read again when a viewer requests it.
  Duration fleet_period = std::chrono::seconds(5);
  // Time after which a stream sends a viewer (a browser or the command line) a message even if
  // nothing has changed. A closed browser is only detected when sending to it fails.
  Duration repeat_period = std::chrono::seconds(15);

  // Returns how long a node must be silent to be considered absent. This is shorter than the lease,
  // so that users see that a node is absent before its jobs' leases expire.
  Duration Silence() const { return lease * 5 / 6; }
};

}  // namespace assay::coordinator
