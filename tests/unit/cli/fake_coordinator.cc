#include "tests/unit/cli/fake_coordinator.h"

#include <fcntl.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "common/file.h"
#include "common/subprocess.h"
#include "tests/temporary_folder.h"
#include "wire/credentials.h"
#include "wire/status_conversion.h"

namespace assay::cli {
namespace {

// Returns one page of `items`; tokens are positions.
template <typename Item, typename Add>
std::string Page(const std::vector<Item>& items, int page_size, const std::string& token, Add add) {
  const size_t start = token.empty() ? 0 : std::stoul(token);
  const size_t end = std::min(items.size(), start + static_cast<size_t>(page_size));
  for (size_t i = start; i < end; ++i) add(items[i]);
  return end < items.size() ? std::to_string(end) : "";
}

grpc::Status NotThere(const std::string& what) { return rpc::ToGrpc(NotFound("no " + what)); }

}  // namespace

struct FakeCoordinator::Campaigns final : v1::CampaignService::Service {
  explicit Campaigns(FakeCoordinator& fake) : fake(fake) {}

  grpc::Status CreateCampaign(grpc::ServerContext*, const v1::CreateCampaignRequest* request,
                              v1::CreateCampaignResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_create_ = *request;
    ++fake.create_calls_;
    if (!fake.create_error.ok()) return rpc::ToGrpc(fake.create_error);
    *response->mutable_campaign() = fake.campaigns.at(0);
    if (fake.estimate) *response->mutable_estimate() = *fake.estimate;
    return grpc::Status::OK;
  }

  grpc::Status RerunCampaign(grpc::ServerContext*, const v1::RerunCampaignRequest* request,
                             v1::RerunCampaignResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_rerun_ = *request;
    *response->mutable_campaign() = fake.campaigns.at(0);
    return grpc::Status::OK;
  }

  grpc::Status GetCampaign(grpc::ServerContext*, const v1::GetCampaignRequest* request,
                           v1::GetCampaignResponse* response) override {
    for (const v1::Campaign& campaign : fake.campaigns) {
      if (campaign.campaign_id() != request->campaign() && campaign.name() != request->campaign()) {
        continue;
      }
      *response->mutable_campaign() = campaign;
      return grpc::Status::OK;
    }
    return NotThere("campaign \"" + request->campaign() + "\"");
  }

  grpc::Status CancelCampaign(grpc::ServerContext*, const v1::CancelCampaignRequest*,
                              v1::CancelCampaignResponse* response) override {
    *response->mutable_campaign() = fake.campaigns.at(0);
    return grpc::Status::OK;
  }

  grpc::Status PauseCampaign(grpc::ServerContext*, const v1::PauseCampaignRequest*,
                             v1::PauseCampaignResponse* response) override {
    *response->mutable_campaign() = fake.campaigns.at(0);
    response->mutable_campaign()->mutable_pause_time()->set_seconds(1'700'000'000);
    return grpc::Status::OK;
  }

  grpc::Status ResumeCampaign(grpc::ServerContext*, const v1::ResumeCampaignRequest*,
                              v1::ResumeCampaignResponse* response) override {
    *response->mutable_campaign() = fake.campaigns.at(0);
    return grpc::Status::OK;
  }

  grpc::Status ListCampaigns(grpc::ServerContext*, const v1::ListCampaignsRequest* request,
                             v1::ListCampaignsResponse* response) override {
    response->set_next_page_token(
        Page(fake.campaigns, request->page_size(), request->page_token(),
             [&](const v1::Campaign& campaign) { *response->add_campaigns() = campaign; }));
    return grpc::Status::OK;
  }

  grpc::Status ListJobs(grpc::ServerContext*, const v1::ListJobsRequest* request,
                        v1::ListJobsResponse* response) override {
    response->set_next_page_token(Page(fake.jobs, request->page_size(), request->page_token(),
                                       [&](const v1::Job& job) { *response->add_jobs() = job; }));
    return grpc::Status::OK;
  }

  grpc::Status WatchCampaign(grpc::ServerContext* context, const v1::WatchCampaignRequest*,
                             grpc::ServerWriter<v1::WatchCampaignResponse>* writer) override {
    std::unique_lock lock(fake.mutex_);
    if (fake.watches.empty()) return NotThere("campaign to watch");
    const std::vector<v1::WatchCampaignResponse> messages = fake.watches.front();
    fake.watches.pop_front();
    const bool last = fake.watches.empty();
    for (const v1::WatchCampaignResponse& message : messages) writer->Write(message);
    if (!last) return {grpc::StatusCode::UNAVAILABLE, "going away"};
    if (!fake.hang_last_watch) return grpc::Status::OK;
    fake.hanging_ = true;
    fake.changed_.notify_all();
    while (!context->IsCancelled() && !fake.stopping_) {
      fake.changed_.wait_for(lock, std::chrono::milliseconds(10));
    }
    return grpc::Status::CANCELLED;
  }

  grpc::Status ListFleetBenchmarks(grpc::ServerContext*, const v1::ListFleetBenchmarksRequest*,
                                   v1::ListFleetBenchmarksResponse* response) override {
    *response = fake.benchmarks;
    return grpc::Status::OK;
  }

  FakeCoordinator& fake;
};

struct FakeCoordinator::Nodes final : v1::NodeService::Service {
  explicit Nodes(FakeCoordinator& fake) : fake(fake) {}

  grpc::Status ListNodes(grpc::ServerContext*, const v1::ListNodesRequest* request,
                         v1::ListNodesResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_filter_ = request->filter();
    response->set_next_page_token(
        Page(fake.nodes, request->page_size(), request->page_token(),
             [&](const v1::Node& node) { *response->add_nodes() = node; }));
    return grpc::Status::OK;
  }

  grpc::Status GetNode(grpc::ServerContext*, const v1::GetNodeRequest* request,
                       v1::GetNodeResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    if (!fake.node_states.empty()) {
      fake.nodes.at(0) = fake.node_states.front();
      fake.node_states.pop_front();
      fake.changed_.notify_all();
    }
    for (const v1::Node& node : fake.nodes) {
      if (node.description().name() != request->node() &&
          node.description().node_id() != request->node()) {
        continue;
      }
      *response->mutable_node() = node;
      return grpc::Status::OK;
    }
    return NotThere("node \"" + request->node() + "\"");
  }

  grpc::Status AddNode(grpc::ServerContext*, const v1::AddNodeRequest*,
                       v1::AddNodeResponse* response) override {
    *response->mutable_node() = fake.nodes.at(0);
    return grpc::Status::OK;
  }

  grpc::Status RemoveNode(grpc::ServerContext*, const v1::RemoveNodeRequest* request,
                          v1::RemoveNodeResponse*) override {
    const std::lock_guard lock(fake.mutex_);
    fake.removed_.push_back("node " + request->node());
    return rpc::ToGrpc(FailedPrecondition("the node runs a job", Reason::kNodeBusy));
  }

  // The following calls answer with the first node.
  grpc::Status CordonNode(grpc::ServerContext*, const v1::CordonNodeRequest* request,
                          v1::CordonNodeResponse* response) override {
    return Answer(*request, fake.last_cordon_, *response);
  }
  grpc::Status UncordonNode(grpc::ServerContext*, const v1::UncordonNodeRequest* request,
                            v1::UncordonNodeResponse* response) override {
    v1::UncordonNodeRequest ignored;
    return Answer(*request, ignored, *response);
  }
  grpc::Status DrainNode(grpc::ServerContext*, const v1::DrainNodeRequest* request,
                         v1::DrainNodeResponse* response) override {
    return Answer(*request, fake.last_drain_, *response);
  }
  grpc::Status UpdateNode(grpc::ServerContext*, const v1::UpdateNodeRequest* request,
                          v1::UpdateNodeResponse* response) override {
    return Answer(*request, fake.last_update_, *response);
  }

  template <typename Request, typename Response>
  grpc::Status Answer(const Request& request, Request& last, Response& response) {
    const std::lock_guard lock(fake.mutex_);
    last = request;
    if (request.node() == "none") return NotThere("node \"none\"");
    *response.mutable_node() = fake.nodes.at(0);
    return grpc::Status::OK;
  }

  FakeCoordinator& fake;
};

struct FakeCoordinator::Results final : v1::ResultService::Service {
  explicit Results(FakeCoordinator& fake) : fake(fake) {}

  grpc::Status ListResults(grpc::ServerContext*, const v1::ListResultsRequest* request,
                           v1::ListResultsResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    // The CLI adds this to look for results that the user's own filter left out.
    if (request->filter().find("simulated = true") == std::string::npos) {
      fake.last_filter_ = request->filter();
    }
    response->set_next_page_token(
        Page(fake.results, request->page_size(), request->page_token(),
             [&](const v1::StoredResult& result) { *response->add_results() = result; }));
    if (!response->next_page_token().empty()) {
      response->set_remaining_count(static_cast<int>(fake.results.size()) -
                                    std::stoi(response->next_page_token()));
    }
    fake.last_order_ = request->order_by();
    if (request->filter().find("imported") != std::string::npos) {
      for (const v1::StoredResult& result : fake.imported) *response->add_results() = result;
    }
    return grpc::Status::OK;
  }

  grpc::Status GroupResults(grpc::ServerContext*, const v1::GroupResultsRequest* request,
                            v1::GroupResultsResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_groups_ = *request;
    response->mutable_groups()->Assign(fake.groups.begin(), fake.groups.end());
    return grpc::Status::OK;
  }

  grpc::Status TabulateResults(grpc::ServerContext*, const v1::TabulateResultsRequest* request,
                               v1::TabulateResultsResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_filter_ = request->filter();
    *response = fake.table;
    return grpc::Status::OK;
  }

  grpc::Status ListFacets(grpc::ServerContext*, const v1::ListFacetsRequest*,
                          v1::ListFacetsResponse* response) override {
    *response = fake.facets;
    return grpc::Status::OK;
  }

  // Later calls of ListResults return what was imported. A second import is known already.
  grpc::Status ImportResults(grpc::ServerContext*, const v1::ImportResultsRequest* request,
                             v1::ImportResultsResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    if (!fake.import_error.ok()) return rpc::ToGrpc(fake.import_error);
    response->set_already_imported(fake.last_import_.request_id() == request->request_id());
    fake.last_import_ = *request;
    if (!response->already_imported()) {
      v1::Campaign& campaign = fake.campaigns.emplace_back();
      campaign.set_campaign_id("c-import");
      campaign.set_name(request->name());
      fake.results.clear();
      for (const v1::CaseResult& sent : request->results()) {
        v1::StoredResult stored;
        *stored.mutable_case_result() = sent;
        *stored.mutable_case_result()->mutable_environment() = request->environment();
        *stored.mutable_case_result()->mutable_provenance() = request->provenance();
        fake.results.insert(fake.results.begin(), stored);  // Newest first.
      }
    }
    *response->mutable_campaign() = fake.campaigns.back();
    return grpc::Status::OK;
  }

  FakeCoordinator& fake;
};

struct FakeCoordinator::Agent final : v1::AgentService::Service {
  explicit Agent(FakeCoordinator& fake) : fake(fake) {}

  grpc::Status RunJob(grpc::ServerContext*, const v1::RunJobRequest* request,
                      grpc::ServerWriter<v1::RunJobResponse>* writer) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_run_ = *request;
    for (const v1::RunJobResponse& event : fake.run_events) writer->Write(event);
    return rpc::ToGrpc(fake.run_error);
  }

  FakeCoordinator& fake;
};

struct FakeCoordinator::Analysis final : v1::AnalysisService::Service {
  explicit Analysis(FakeCoordinator& fake) : fake(fake) {}

  grpc::Status CompareResults(grpc::ServerContext*, const v1::CompareResultsRequest* request,
                              v1::CompareResultsResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_comparison_ = *request;
    *response = fake.comparison;
    return grpc::Status::OK;
  }

  grpc::Status GetHistory(grpc::ServerContext*, const v1::GetHistoryRequest* request,
                          v1::GetHistoryResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_history_ = *request;
    *response = fake.history;
    return grpc::Status::OK;
  }

  grpc::Status GetRoofline(grpc::ServerContext*, const v1::GetRooflineRequest* request,
                           v1::GetRooflineResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_filter_ = request->filter();
    *response = fake.roofline;
    return grpc::Status::OK;
  }

  // Lists incidents on the first page only.
  grpc::Status ListRegressions(grpc::ServerContext*, const v1::ListRegressionsRequest* request,
                               v1::ListRegressionsResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_regressions_ = *request;
    const auto& all = fake.regressions.regressions();
    response->set_next_page_token(
        Page(std::vector<v1::Regression>(all.begin(), all.end()), 1, request->page_token(),
             [&](const v1::Regression& one) { *response->add_regressions() = one; }));
    if (request->page_token().empty()) {
      *response->mutable_incidents() = fake.regressions.incidents();
      if (fake.regressions.has_judged_until()) {
        *response->mutable_judged_until() = fake.regressions.judged_until();
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status ListOutliers(grpc::ServerContext*, const v1::ListOutliersRequest* request,
                            v1::ListOutliersResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_outliers_ = *request;
    *response = fake.outliers;
    return grpc::Status::OK;
  }

  grpc::Status ListBaselines(grpc::ServerContext*, const v1::ListBaselinesRequest*,
                             v1::ListBaselinesResponse* response) override {
    response->mutable_baselines()->Assign(fake.baselines.begin(), fake.baselines.end());
    return grpc::Status::OK;
  }

  grpc::Status GetBaseline(grpc::ServerContext*, const v1::GetBaselineRequest* request,
                           v1::GetBaselineResponse* response) override {
    for (const v1::Baseline& one : fake.baselines) {
      if (one.name() != request->name()) continue;
      *response->mutable_baseline() = one;
      return grpc::Status::OK;
    }
    return NotThere("baseline \"" + request->name() + "\"");
  }

  grpc::Status GetCosts(grpc::ServerContext*, const v1::GetCostsRequest* request,
                        v1::GetCostsResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_costs_ = *request;
    *response = fake.costs;
    return grpc::Status::OK;
  }

  FakeCoordinator& fake;
};

struct FakeCoordinator::Notes final : v1::NoteService::Service {
  explicit Notes(FakeCoordinator& fake) : fake(fake) {}

  grpc::Status CreateBaseline(grpc::ServerContext*, const v1::CreateBaselineRequest* request,
                              v1::CreateBaselineResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_baseline_ = *request;
    *response->mutable_baseline() = fake.baselines.at(0);
    return grpc::Status::OK;
  }

  grpc::Status CreateAnnotation(grpc::ServerContext*, const v1::CreateAnnotationRequest* request,
                                v1::CreateAnnotationResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_annotation_ = *request;
    *response->mutable_annotation() = request->annotation();
    return grpc::Status::OK;
  }

  grpc::Status AcknowledgeRegression(grpc::ServerContext*,
                                     const v1::AcknowledgeRegressionRequest* request,
                                     v1::AcknowledgeRegressionResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_acknowledge_ = *request;
    if (request->id() == "unknown") return NotThere("regression \"unknown\"");
    response->set_acknowledged_count(12);
    return grpc::Status::OK;
  }

  FakeCoordinator& fake;
};

struct FakeCoordinator::Schedules final : v1::ScheduleService::Service {
  explicit Schedules(FakeCoordinator& fake) : fake(fake) {}

  grpc::Status CreateSchedule(grpc::ServerContext*, const v1::CreateScheduleRequest* request,
                              v1::CreateScheduleResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_schedule_ = *request;
    if (!fake.schedule_error.ok()) return rpc::ToGrpc(fake.schedule_error);
    *response = fake.schedule;
    *response->mutable_schedule() = request->schedule();
    return grpc::Status::OK;
  }

  grpc::Status ListSchedules(grpc::ServerContext*, const v1::ListSchedulesRequest*,
                             v1::ListSchedulesResponse* response) override {
    response->mutable_schedules()->Assign(fake.schedules.begin(), fake.schedules.end());
    return grpc::Status::OK;
  }

  grpc::Status DeleteSchedule(grpc::ServerContext*, const v1::DeleteScheduleRequest* request,
                              v1::DeleteScheduleResponse*) override {
    for (const v1::Schedule& one : fake.schedules) {
      if (one.name() == request->schedule()) return grpc::Status::OK;
    }
    return NotThere("schedule \"" + request->schedule() + "\"");
  }

  FakeCoordinator& fake;
};

struct FakeCoordinator::Identities final : v1::IdentityService::Service {
  explicit Identities(FakeCoordinator& fake) : fake(fake) {}

  grpc::Status CreateInvite(grpc::ServerContext*, const v1::CreateInviteRequest* request,
                            v1::CreateInviteResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    if (!fake.identity_error.ok()) return rpc::ToGrpc(fake.identity_error);
    fake.last_invite_ = *request;
    v1::Invite& invite = *response->mutable_invite();
    invite.set_invite_id("invite-" + std::to_string(++fake.create_calls_));
    *invite.mutable_scope() = request->scope();
    invite.mutable_expire_time()->set_seconds(1'795'700'000);
    response->set_token("TOKEN");
    response->set_command(fake.invite_command);
    if (request->scope().role() == "node") {
      response->set_wget_command("wget -nv -O- https://c:7943/join | sh -s -- TOKEN");
    }
    return grpc::Status::OK;
  }

  grpc::Status ListInvites(grpc::ServerContext*, const v1::ListInvitesRequest*,
                           v1::ListInvitesResponse* response) override {
    if (!fake.identity_error.ok()) return rpc::ToGrpc(fake.identity_error);
    response->mutable_invites()->Assign(fake.invites.begin(), fake.invites.end());
    return grpc::Status::OK;
  }

  grpc::Status RevokeInvite(grpc::ServerContext*, const v1::RevokeInviteRequest* request,
                            v1::RevokeInviteResponse*) override {
    const std::lock_guard lock(fake.mutex_);
    if (!fake.identity_error.ok()) return rpc::ToGrpc(fake.identity_error);
    fake.revoked_.push_back(request->invite_id());
    return grpc::Status::OK;
  }

  grpc::Status ListIdentities(grpc::ServerContext*, const v1::ListIdentitiesRequest* request,
                              v1::ListIdentitiesResponse* response) override {
    if (!fake.identity_error.ok()) return rpc::ToGrpc(fake.identity_error);
    std::vector<v1::EnrolledIdentity> chosen;
    for (const v1::EnrolledIdentity& one : fake.identities) {
      if (request->role().empty() || one.role() == request->role()) chosen.push_back(one);
    }
    response->set_next_page_token(
        Page(chosen, request->page_size(), request->page_token(),
             [&](const v1::EnrolledIdentity& one) { *response->add_identities() = one; }));
    return grpc::Status::OK;
  }

  grpc::Status BanIdentity(grpc::ServerContext*, const v1::BanIdentityRequest* request,
                           v1::BanIdentityResponse* response) override {
    const std::lock_guard lock(fake.mutex_);
    fake.last_ban_ = *request;
    return Find(request->identity(), response->mutable_identity());
  }

  grpc::Status UnbanIdentity(grpc::ServerContext*, const v1::UnbanIdentityRequest* request,
                             v1::UnbanIdentityResponse* response) override {
    return Find(request->identity(), response->mutable_identity());
  }

  grpc::Status RemoveIdentity(grpc::ServerContext*, const v1::RemoveIdentityRequest* request,
                              v1::RemoveIdentityResponse*) override {
    const std::lock_guard lock(fake.mutex_);
    v1::EnrolledIdentity found;
    fake.removed_.push_back("identity " + request->identity());
    return Find(request->identity(), &found);
  }

  grpc::Status ListAttempts(grpc::ServerContext*, const v1::ListAttemptsRequest*,
                            v1::ListAttemptsResponse* response) override {
    if (!fake.identity_error.ok()) return rpc::ToGrpc(fake.identity_error);
    response->mutable_attempts()->Assign(fake.attempts.begin(), fake.attempts.end());
    return grpc::Status::OK;
  }

  grpc::Status Find(const std::string& name, v1::EnrolledIdentity* identity) const {
    if (!fake.identity_error.ok()) return rpc::ToGrpc(fake.identity_error);
    for (const v1::EnrolledIdentity& one : fake.identities) {
      if (one.name() != name) continue;
      *identity = one;
      return grpc::Status::OK;
    }
    return NotThere("identity \"" + name + "\"");
  }

  FakeCoordinator& fake;
};

FakeCoordinator::FakeCoordinator()
    : campaign_service_(std::make_unique<Campaigns>(*this)),
      node_service_(std::make_unique<Nodes>(*this)),
      result_service_(std::make_unique<Results>(*this)),
      agent_service_(std::make_unique<Agent>(*this)),
      analysis_service_(std::make_unique<Analysis>(*this)),
      note_service_(std::make_unique<Notes>(*this)),
      schedule_service_(std::make_unique<Schedules>(*this)),
      identity_service_(std::make_unique<Identities>(*this)) {}

FakeCoordinator::~FakeCoordinator() { Stop(); }

void FakeCoordinator::Start(int port) {
  stopping_ = false;
  grpc::ServerBuilder builder;
  rpc::ApplyServerLimits(builder);
  builder.AddListeningPort("127.0.0.1:" + std::to_string(port), grpc::InsecureServerCredentials(),
                           &port_);
  builder.RegisterService(campaign_service_.get());
  builder.RegisterService(node_service_.get());
  builder.RegisterService(result_service_.get());
  builder.RegisterService(agent_service_.get());
  builder.RegisterService(analysis_service_.get());
  builder.RegisterService(note_service_.get());
  builder.RegisterService(schedule_service_.get());
  builder.RegisterService(identity_service_.get());
  server_ = builder.BuildAndStart();
}

void FakeCoordinator::Stop() {
  if (!server_) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
}

v1::CreateCampaignRequest FakeCoordinator::last_create() const {
  const std::lock_guard lock(mutex_);
  return last_create_;
}

v1::CreateScheduleRequest FakeCoordinator::last_schedule() const {
  const std::lock_guard lock(mutex_);
  return last_schedule_;
}

std::string FakeCoordinator::last_order() const {
  const std::lock_guard lock(mutex_);
  return last_order_;
}

v1::GroupResultsRequest FakeCoordinator::last_groups() const {
  const std::lock_guard lock(mutex_);
  return last_groups_;
}

std::string FakeCoordinator::last_filter() const {
  const std::lock_guard lock(mutex_);
  return last_filter_;
}

v1::ImportResultsRequest FakeCoordinator::last_import() const {
  const std::lock_guard lock(mutex_);
  return last_import_;
}

v1::RerunCampaignRequest FakeCoordinator::last_rerun() const {
  const std::lock_guard lock(mutex_);
  return last_rerun_;
}

v1::CordonNodeRequest FakeCoordinator::last_cordon() const {
  const std::lock_guard lock(mutex_);
  return last_cordon_;
}

v1::DrainNodeRequest FakeCoordinator::last_drain() const {
  const std::lock_guard lock(mutex_);
  return last_drain_;
}

v1::UpdateNodeRequest FakeCoordinator::last_update() const {
  const std::lock_guard lock(mutex_);
  return last_update_;
}

v1::RunJobRequest FakeCoordinator::last_run() const {
  const std::lock_guard lock(mutex_);
  return last_run_;
}

v1::CompareResultsRequest FakeCoordinator::last_comparison() const {
  const std::lock_guard lock(mutex_);
  return last_comparison_;
}

v1::GetHistoryRequest FakeCoordinator::last_history() const {
  const std::lock_guard lock(mutex_);
  return last_history_;
}

v1::ListRegressionsRequest FakeCoordinator::last_regressions() const {
  const std::lock_guard lock(mutex_);
  return last_regressions_;
}

v1::ListOutliersRequest FakeCoordinator::last_outliers() const {
  const std::lock_guard lock(mutex_);
  return last_outliers_;
}

v1::GetCostsRequest FakeCoordinator::last_costs() const {
  const std::lock_guard lock(mutex_);
  return last_costs_;
}

v1::CreateBaselineRequest FakeCoordinator::last_baseline() const {
  const std::lock_guard lock(mutex_);
  return last_baseline_;
}

v1::CreateAnnotationRequest FakeCoordinator::last_annotation() const {
  const std::lock_guard lock(mutex_);
  return last_annotation_;
}

v1::AcknowledgeRegressionRequest FakeCoordinator::last_acknowledge() const {
  const std::lock_guard lock(mutex_);
  return last_acknowledge_;
}

v1::CreateInviteRequest FakeCoordinator::last_invite() const {
  const std::lock_guard lock(mutex_);
  return last_invite_;
}

v1::BanIdentityRequest FakeCoordinator::last_ban() const {
  const std::lock_guard lock(mutex_);
  return last_ban_;
}

std::vector<std::string> FakeCoordinator::revoked() const {
  const std::lock_guard lock(mutex_);
  return revoked_;
}

std::vector<std::string> FakeCoordinator::removed() const {
  const std::lock_guard lock(mutex_);
  return removed_;
}

int FakeCoordinator::create_calls() const {
  const std::lock_guard lock(mutex_);
  return create_calls_;
}

void FakeCoordinator::AwaitHangingWatch() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return hanging_; });
}

ProgramRun RunAssay(const std::vector<std::string>& arguments, const std::string& coordinator,
                    const std::vector<std::string>& environment) {
  // Both streams go to files of their own, so that neither blocks the program.
  const TemporaryFolder folder;
  const std::string out = folder.path() + "/out";
  const std::string err = folder.path() + "/err";
  const auto make = [](const std::string& path) {
    return FileDescriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  };
  const FileDescriptor out_file = make(out);
  const FileDescriptor err_file = make(err);
  SubprocessOptions options;
  options.argv = {ASSAY_PROGRAM};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.environment = {"ASSAY_COORDINATOR=" + coordinator, "HOME=/nonexistent", "TZ=UTC"};
  options.environment->insert(options.environment->end(), environment.begin(), environment.end());
  options.descriptors = {{1, out_file.get()}, {2, err_file.get()}};
  ProgramRun run;
  Result<Subprocess> program = Subprocess::Spawn(options);
  if (!program.ok()) return {-1, "", program.status().ToString()};
  if (const std::optional<ExitStatus> exit = program->Wait(std::chrono::seconds(40))) {
    run.exit_code = exit->signal == 0 ? exit->code : -exit->signal;
  }
  run.out = ReadFile(out).value();
  run.err = ReadFile(err).value();
  return run;
}

}  // namespace assay::cli
