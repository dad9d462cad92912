// The core of the coordinator, which schedules campaigns, maintains sessions with agents, and
// stores results. This code does not depend on gRPC or PostgreSQL: the gRPC server is in
// coordinator/rpc, and process.cc opens the database.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/node_service.pb.h"
#include "assay/v1/result_service.pb.h"
#include "coordinator/core/attempts/attempts.h"
#include "coordinator/core/attempts/grace_period.h"
#include "coordinator/core/attempts/outage.h"
#include "coordinator/core/attempts/result_intake.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/attempts/scheduler.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/estimator.h"
#include "coordinator/core/figures/figures.h"
#include "coordinator/core/fleet_view.h"
#include "coordinator/core/judging/judge.h"
#include "coordinator/core/judging/questions.h"
#include "coordinator/core/leadership.h"
#include "coordinator/core/schedules.h"
#include "coordinator/core/sessions/heartbeats.h"
#include "coordinator/core/sessions/quarantine.h"
#include "coordinator/core/sessions/session.h"
#include "coordinator/core/sessions/sessions.h"
#include "coordinator/core/watchers.h"

namespace assay::coordinator {

// The main object of a coordinator process. Thread-safe. Methods that return a Result or a Status
// block on the database. Stop the executor before destroying this object, because the executor's
// tasks use it.
class Coordinator {
 public:
  Coordinator(const Environment& environment, Options options);

  // Stands for election, and starts scheduling when elected. Blocks on the database.
  void Start(Place place = {});
  // Stops scheduling, closes all sessions with agents, and asks the agents to reconnect after
  // `reconnect_after`. Running jobs continue on their agents and are taken over by the next
  // coordinator process. Blocks on the database.
  void Shutdown(Duration reconnect_after);

  // Creates the session for a new stream between an agent and this coordinator. The session sends
  // its messages to `sink`. If the coordinator opened the stream, `dial_address` is the agent's
  // address. If the agent opened it, `dial_address` is empty.
  std::shared_ptr<Session> OpenSession(std::shared_ptr<SessionSink> sink,
                                       const std::string& dial_address);
  Sessions& sessions() { return sessions_; }
  const Leadership& leadership() const { return leadership_; }
  Watchers& watchers() { return watchers_; }
  Clock& clock() const { return environment_.clock; }
  Executor& executor() const { return environment_.executor; }
  const Options& options() const { return options_; }

  // Handles a database notification that another coordinator process has queued jobs, freed nodes,
  // or advanced a campaign.
  void OnNotification();

  // Registers a callback for every agent that opens a session from now on. It runs on the executor.
  void OnAttached(std::function<void(const Agent&)> callback);

  // The following methods implement the requests of CampaignService, NodeService and ResultService.
  Result<v1::Campaign> CreateCampaign(const v1::CreateCampaignRequest& request,
                                      const Identity& caller = kLocalAdmin);
  // Handles a request with `validate_only` set: checks the campaign and estimates its duration
  // without creating it. If the database is too slow, the response has no estimate. Call this on a
  // thread for slow queries, because it reads earlier results.
  Result<v1::CreateCampaignResponse> PreviewCampaign(const v1::CreateCampaignRequest& request);
  const Estimator& estimator() const { return estimator_; }
  // Returns a campaign, with the reasons why its queued jobs wait.
  Result<v1::Campaign> GetCampaign(const std::string& id_or_name);
  Result<v1::Campaign> CancelCampaign(const std::string& id_or_name,
                                      const Identity& caller = kLocalAdmin);
  // Pauses or resumes a campaign.
  Result<v1::Campaign> SetPaused(const std::string& id_or_name, bool paused,
                                 const Identity& caller = kLocalAdmin);
  // Queues the jobs of an ended campaign for another run.
  Result<v1::Campaign> RerunCampaign(const v1::RerunCampaignRequest& request,
                                     const Identity& caller = kLocalAdmin);
  Result<Page<v1::Campaign>> ListCampaigns(const PageRequest& page);
  Result<Page<v1::Job>> ListJobs(const std::string& campaign_id_or_name, const PageRequest& page);
  // Returns the jobs of a campaign that changed since `revision`; see JobStore.
  Result<storage::JobStore::JobChanges> ListJobChanges(const std::string& campaign_id,
                                                       int64_t revision);
  Result<storage::ResultPage> ListResults(const std::string& filter, const PageRequest& page,
                                          const std::string& order);
  Result<v1::GroupResultsResponse> GroupResults(const v1::GroupResultsRequest& request);
  Result<v1::StoredResult> GetResult(const std::string& result_id);
  // Stores all results or none.
  Result<v1::ImportResultsResponse> ImportResults(const v1::ImportResultsRequest& request);
  // Returns the object that answers questions about comparisons, histories, costs and baselines.
  // Call its methods on a thread for slow queries, because they read large numbers of runs.
  const Questions& questions() const { return questions_; }
  // Returns the object that answers queries for figures and large tables. Call its methods on a
  // thread for slow queries.
  const Figures& figures() const { return figures_; }
  // Returns the judge of new results. Call its methods on a separate thread.
  Judge& judge() { return judge_; }
  Schedules& schedules() { return schedules_; }
  // The next methods implement AnalysisService and NoteService.
  Result<v1::ListRegressionsResponse> ListRegressions(const v1::ListRegressionsRequest& request,
                                                      const PageRequest& page);
  Result<v1::ListOutliersResponse> ListOutliers(const v1::ListOutliersRequest& request);
  Result<std::vector<v1::Baseline>> ListBaselines();
  Result<v1::Baseline> GetBaseline(const std::string& name);
  Result<v1::Annotation> CreateAnnotation(const v1::Annotation& annotation, const Identity& caller);
  Result<int> AcknowledgeRegression(const v1::AcknowledgeRegressionRequest& request,
                                    const Identity& caller);
  // Returns the benchmarks of the connected nodes, merged by name.
  Result<std::vector<v1::FleetBenchmark>> ListFleetBenchmarks();
  // Returns the nodes sorted by name. A node is considered disconnected once its agent has been
  // silent for Options::Silence().
  Result<Page<v1::Node>> ListNodes(const std::string& filter, v1::NodeView view,
                                   const PageRequest& request);
  // Returns a node, with its telemetry if its agent has a session with this coordinator.
  Result<v1::Node> GetNode(const std::string& id_or_name);
  // Returns the object that tracks the state of all nodes. Call its methods on a thread for slow
  // queries, because they read many rows.
  FleetView& fleet_view() { return fleet_view_; }
  // Stores an address to dial, for this and later coordinators.
  Status AddDialAddress(const std::string& address);
  // Deletes the node and its identity, and ends its session. Returns the node as it was, including
  // its dial address. Returns FAILED_PRECONDITION if the agent is connected and could simply
  // reconnect, because the node has neither an identity nor a dial address to delete.
  Result<v1::Node> RemoveNode(const std::string& id_or_name);
  // The next methods return the node as it is after the change.
  Result<v1::Node> CordonNode(const v1::CordonNodeRequest& request, const Identity& caller);
  Result<v1::Node> UncordonNode(const std::string& id_or_name, const Identity& caller);
  Result<v1::Node> DrainNode(const v1::DrainNodeRequest& request, const Identity& caller);
  Result<v1::Node> UpdateNode(const v1::UpdateNodeRequest& request, const Identity& caller);

 private:
  void NoteAttached(const Agent& agent);
  // Returns the jobs of a campaign that wait for absent nodes.
  Result<std::vector<v1::WaitingJobs>> ListWaiting(const std::string& campaign_id);
  // Returns true if the node has joined by an invite.
  Result<bool> IsEnrolled(const std::string& node_id) const;
  // Returns NOT_FOUND if there is no node of this name. An empty name is no error.
  Status CheckNodeName(const std::string& name);
  // Returns INVALID_ARGUMENT if accept rules name baselines that do not exist.
  Status CheckBaselines(const v1::CampaignSpec& spec);
  // Checks the campaign of a schedule; see ScheduledCampaigns.
  Result<std::optional<v1::Campaign>> CheckScheduled(const v1::CampaignSpec& spec);
  Result<v1::Campaign> Create(const v1::CreateCampaignRequest& request,
                              const std::string& campaign_id, const std::string& submitted_by,
                              const std::string& schedule);
  // Checks the request, lists the fleet and expands the campaign.
  Result<campaign::Expansion> Expand(const v1::CreateCampaignRequest& request,
                                     std::vector<v1::Node>& fleet);

  const Environment environment_;
  const Options options_;
  const Estimator estimator_;
  Leadership leadership_;
  Outage outage_;
  GracePeriod grace_;
  Watchers watchers_;
  Sessions sessions_;
  Quarantine quarantine_;
  RunningJobs running_;
  Attempts attempts_;
  ResultIntake results_;
  Schedules schedules_;
  const std::shared_ptr<Heartbeats> heartbeats_;
  const std::shared_ptr<Scheduler> scheduler_;
  const Questions questions_;
  const Figures figures_;
  Judge judge_;
  FleetView fleet_view_;
  Mutex mutex_;
  std::function<void(const Agent&)> on_attached_ ASSAY_GUARDED_BY(mutex_);
};

// Converts results measured by another program to a campaign, so that they can be stored. The
// campaign has one job per benchmark and one case (a single measurement) per result. Drops any
// fields that the documentation of ImportResultsRequest does not list. If schema::CheckImport
// rejects the request, returns its error.
Result<storage::ImportedCampaign> ToImportedCampaign(const v1::ImportResultsRequest& request,
                                                     WallTime now);

}  // namespace assay::coordinator
