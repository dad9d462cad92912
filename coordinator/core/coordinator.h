// The coordinator without its transport: campaigns in, sessions with agents, results
// to the stores. coordinator/rpc and main.cc put gRPC and PostgreSQL around it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/node_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "coordinator/core/attempts/absence.h"
#include "coordinator/core/attempts/attempts.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/sessions/heartbeats.h"
#include "coordinator/core/attempts/outage.h"
#include "coordinator/core/attempts/result_intake.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/attempts/scheduler.h"
#include "coordinator/core/sessions/session.h"
#include "coordinator/core/sessions/sessions.h"
#include "coordinator/core/watchers.h"

namespace assay::coordinator {

// Thread-safe. Calls that return a Result block on the database. Outlives the executor's
// tasks: stop the executor first, then destroy this.
class Coordinator {
 public:
  Coordinator(const Environment& environment, Options options);

  // Begins to schedule.
  void Start();
  // Sends every agent away to come back after `reconnect_after`, and stops scheduling.
  // Jobs go on at their agents; whoever is coordinator next adopts them.
  void Shutdown(Duration reconnect_after);

  // A stream to or from an agent has opened. `dial_address` is empty if it attached.
  std::shared_ptr<Session> OpenSession(std::shared_ptr<SessionSink> sink,
                                       const std::string& dial_address);
  Sessions& sessions() { return sessions_; }
  Watchers& watchers() { return watchers_; }
  const Environment& environment() const { return environment_; }
  const Options& options() const { return options_; }

  // The database says that something changed: jobs were queued or nodes freed by
  // another coordinator, campaigns moved on.
  void OnNotification();

  // Calls `callback` whenever an agent is in session, on the executor, from now on.
  void OnAttached(std::function<void(const Agent&)> callback);

  // As the requests of CampaignService and NodeService.
  Result<v1::Campaign> CreateCampaign(const v1::CreateCampaignRequest& request);
  // With what its queued jobs wait for.
  Result<v1::Campaign> GetCampaign(const std::string& id_or_name);
  Result<v1::Campaign> CancelCampaign(const std::string& id_or_name);
  // As ResultService.ImportResults: stored as a whole, or not.
  Result<v1::ImportResultsResponse> ImportResults(const v1::ImportResultsRequest& request);
  // What the connected nodes can run, merged by name.
  Result<std::vector<v1::FleetBenchmark>> ListFleetBenchmarks();
  // By name; nodes that have not been heard of for a lease are disconnected.
  Result<std::vector<v1::Node>> ListNodes(const std::string& filter);
  Result<v1::Node> GetNode(const std::string& id_or_name);
  // Forgets the node and ends its session; its dial address is in the answer.
  Result<v1::Node> RemoveNode(const std::string& id_or_name);

 private:
  void NoteAttached(const Agent& agent);

  const Environment environment_;
  const Options options_;
  Outage outage_;
  Absence absence_;
  Watchers watchers_;
  Sessions sessions_;
  RunningJobs running_;
  Attempts attempts_;
  ResultIntake results_;
  const std::shared_ptr<Heartbeats> heartbeats_;
  const std::shared_ptr<Scheduler> scheduler_;
  Mutex mutex_;
  std::function<void(const Agent&)> on_attached_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::coordinator
