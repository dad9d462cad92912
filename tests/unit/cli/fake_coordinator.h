// A coordinator and an agent with prepared answers.
#pragma once

#include <grpcpp/server.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "assay/v1/agent_service.grpc.pb.h"
#include "assay/v1/analysis_service.grpc.pb.h"
#include "assay/v1/campaign_service.grpc.pb.h"
#include "assay/v1/identity_service.grpc.pb.h"
#include "assay/v1/node_service.grpc.pb.h"
#include "assay/v1/result_service.grpc.pb.h"
#include "assay/v1/schedule_service.grpc.pb.h"
#include "common/status.h"

namespace assay::cli {

// Set the answers before Start. Afterwards, only the methods may change them.
class FakeCoordinator {
 public:
  FakeCoordinator();
  ~FakeCoordinator();

  // Serves on 127.0.0.1, on `port` or any free one.
  void Start(int port = 0);
  // Breaks every connection.
  void Stop();
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int port() const { return port_; }

  // Answers of the services.
  std::vector<v1::Node> nodes;
  // Later states of the first node: each call of GetNode takes the next, and stays at the last.
  std::deque<v1::Node> node_states;
  std::vector<v1::Campaign> campaigns;
  std::vector<v1::Job> jobs;
  std::vector<v1::StoredResult> results;
  // Results that are listed only for filters that name `imported`.
  std::vector<v1::StoredResult> imported;
  std::vector<v1::ResultGroup> groups;
  v1::ListFleetBenchmarksResponse benchmarks;
  std::optional<v1::Estimate> estimate;  // Of CreateCampaign.
  Status create_error;
  Status import_error;
  // WatchCampaign streams the next list at each call. After its list, a call fails with UNAVAILABLE
  // unless the list was the last one.
  std::deque<std::vector<v1::WatchCampaignResponse>> watches;
  // The last list leaves the stream open instead of ending it.
  bool hang_last_watch = false;
  v1::CompareResultsResponse comparison;
  v1::GetHistoryResponse history;
  v1::GetRooflineResponse roofline;
  v1::TabulateResultsResponse table;
  v1::ListFacetsResponse facets;
  v1::ListRegressionsResponse regressions;
  v1::ListOutliersResponse outliers;
  v1::GetCostsResponse costs;
  std::vector<v1::Baseline> baselines;
  v1::CreateScheduleResponse schedule;  // Of CreateSchedule.
  Status schedule_error;
  std::vector<v1::Schedule> schedules;
  std::vector<v1::Invite> invites;
  std::vector<v1::EnrolledIdentity> identities;
  std::vector<v1::EnrolmentAttempt> attempts;
  Status identity_error;  // Of all methods of IdentityService.
  // The command of every new invite.
  std::string invite_command = "curl -fsSk https://c:7943/join | sh -s -- TOKEN";
  std::vector<v1::RunJobResponse> run_events;
  Status run_error;

  // Returns the last request.
  v1::CreateCampaignRequest last_create() const;
  std::string last_filter() const;
  std::string last_order() const;
  v1::GroupResultsRequest last_groups() const;
  v1::RunJobRequest last_run() const;
  v1::RerunCampaignRequest last_rerun() const;
  v1::CordonNodeRequest last_cordon() const;
  v1::DrainNodeRequest last_drain() const;
  v1::UpdateNodeRequest last_update() const;
  v1::ImportResultsRequest last_import() const;
  v1::CompareResultsRequest last_comparison() const;
  v1::GetHistoryRequest last_history() const;
  v1::ListRegressionsRequest last_regressions() const;
  v1::ListOutliersRequest last_outliers() const;
  v1::GetCostsRequest last_costs() const;
  v1::CreateBaselineRequest last_baseline() const;
  v1::CreateAnnotationRequest last_annotation() const;
  v1::AcknowledgeRegressionRequest last_acknowledge() const;
  v1::CreateScheduleRequest last_schedule() const;
  v1::CreateInviteRequest last_invite() const;
  v1::BanIdentityRequest last_ban() const;
  std::vector<std::string> revoked() const;  // Ids of invites.
  std::vector<std::string> removed() const;  // Names of identities and nodes, in order.
  int create_calls() const;
  // Blocks until a watch has sent its whole list and its stream stays open.
  void AwaitHangingWatch();

 private:
  struct Campaigns;
  struct Nodes;
  struct Results;
  struct Agent;
  struct Analysis;
  struct Notes;
  struct Schedules;
  struct Identities;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  v1::CreateCampaignRequest last_create_;
  std::string last_filter_;
  std::string last_order_;
  v1::GroupResultsRequest last_groups_;
  v1::RunJobRequest last_run_;
  v1::RerunCampaignRequest last_rerun_;
  v1::CordonNodeRequest last_cordon_;
  v1::DrainNodeRequest last_drain_;
  v1::UpdateNodeRequest last_update_;
  v1::ImportResultsRequest last_import_;
  v1::CompareResultsRequest last_comparison_;
  v1::GetHistoryRequest last_history_;
  v1::ListRegressionsRequest last_regressions_;
  v1::ListOutliersRequest last_outliers_;
  v1::GetCostsRequest last_costs_;
  v1::CreateBaselineRequest last_baseline_;
  v1::CreateAnnotationRequest last_annotation_;
  v1::AcknowledgeRegressionRequest last_acknowledge_;
  v1::CreateScheduleRequest last_schedule_;
  v1::CreateInviteRequest last_invite_;
  v1::BanIdentityRequest last_ban_;
  std::vector<std::string> revoked_;
  std::vector<std::string> removed_;
  int create_calls_ = 0;
  bool hanging_ = false;
  bool stopping_ = false;

  std::unique_ptr<Campaigns> campaign_service_;
  std::unique_ptr<Nodes> node_service_;
  std::unique_ptr<Results> result_service_;
  std::unique_ptr<Agent> agent_service_;
  std::unique_ptr<Analysis> analysis_service_;
  std::unique_ptr<Notes> note_service_;
  std::unique_ptr<Schedules> schedule_service_;
  std::unique_ptr<Identities> identity_service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

// The outcome of a run of the program.
struct ProgramRun {
  int exit_code = -1;
  std::string out;
  std::string err;
};

// Runs `assay` with `arguments` and ASSAY_COORDINATOR=`coordinator`, which may be empty, and
// further environment variables.
ProgramRun RunAssay(const std::vector<std::string>& arguments, const std::string& coordinator,
                    const std::vector<std::string>& environment = {});

}  // namespace assay::cli
