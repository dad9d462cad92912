#include "coordinator/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "assay/v1/campaign_service.grpc.pb.h"
#include "assay/v1/fleet_service.grpc.pb.h"
#include "assay/v1/node_service.grpc.pb.h"
#include "assay/v1/result_service.grpc.pb.h"
#include "coordinator/rpc/analysis_services.h"
#include "coordinator/rpc/dialer.h"
#include "coordinator/rpc/fleet_watch.h"
#include "coordinator/rpc/schedule_service.h"
#include "coordinator/rpc/service.h"
#include "coordinator/rpc/stream_link.h"
#include "coordinator/rpc/watch.h"
#include "wire/access.h"

namespace assay::coordinator::rpc {
namespace {

// Delay after which agents reconnect; their own jitter spreads them.
constexpr Duration kReconnectAfter = std::chrono::seconds(1);
// Time that an agent has to send its Hello. Either side may have opened the connection.
constexpr Duration kHelloPatience = std::chrono::seconds(10);
constexpr auto kCheckPatience = std::chrono::seconds(1);
// Threads for queries of results. They leave most database connections to other work.
constexpr int kReaders = 2;

class CampaignServiceImpl : public CoordinatorService<v1::CampaignService::CallbackService> {
 public:
  using CoordinatorService::CoordinatorService;

  Unary* CreateCampaign(Context* context, const v1::CreateCampaignRequest* request,
                        v1::CreateCampaignResponse* response) override {
    if (request->validate_only()) {
      return calls_.AnswerRead(context, "CreateCampaign", [=, this]() -> Status {
        ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.PreviewCampaign(*request));
        return Status::Ok();
      });
    }
    return calls_.Answer(context, "CreateCampaign", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response->mutable_campaign(),
                             coordinator_.CreateCampaign(*request, assay::rpc::CallerOf(*context)));
      return Status::Ok();
    });
  }

  Unary* GetCampaign(Context* context, const v1::GetCampaignRequest* request,
                     v1::GetCampaignResponse* response) override {
    return calls_.Answer(context, "GetCampaign", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("campaign", request->campaign()));
      ASSAY_ASSIGN_OR_RETURN(*response->mutable_campaign(),
                             coordinator_.GetCampaign(request->campaign()));
      return Status::Ok();
    });
  }

  Unary* ListCampaigns(Context* context, const v1::ListCampaignsRequest* request,
                       v1::ListCampaignsResponse* response) override {
    return calls_.Answer(context, "ListCampaigns", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(const PageRequest page, PageOf(*request, 100));
      ASSAY_ASSIGN_OR_RETURN(Page<v1::Campaign> found, coordinator_.ListCampaigns(page));
      FillPage(std::move(found), response->mutable_campaigns(),
               response->mutable_next_page_token());
      return Status::Ok();
    });
  }

  Unary* CancelCampaign(Context* context, const v1::CancelCampaignRequest* request,
                        v1::CancelCampaignResponse* response) override {
    return calls_.Answer(context, "CancelCampaign", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("campaign", request->campaign()));
      ASSAY_ASSIGN_OR_RETURN(
          *response->mutable_campaign(),
          coordinator_.CancelCampaign(request->campaign(), assay::rpc::CallerOf(*context)));
      return Status::Ok();
    });
  }

  Unary* PauseCampaign(Context* context, const v1::PauseCampaignRequest* request,
                       v1::PauseCampaignResponse* response) override {
    return calls_.Answer(context, "PauseCampaign", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("campaign", request->campaign()));
      ASSAY_ASSIGN_OR_RETURN(
          *response->mutable_campaign(),
          coordinator_.SetPaused(request->campaign(), true, assay::rpc::CallerOf(*context)));
      return Status::Ok();
    });
  }

  Unary* ResumeCampaign(Context* context, const v1::ResumeCampaignRequest* request,
                        v1::ResumeCampaignResponse* response) override {
    return calls_.Answer(context, "ResumeCampaign", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("campaign", request->campaign()));
      ASSAY_ASSIGN_OR_RETURN(
          *response->mutable_campaign(),
          coordinator_.SetPaused(request->campaign(), false, assay::rpc::CallerOf(*context)));
      return Status::Ok();
    });
  }

  Unary* RerunCampaign(Context* context, const v1::RerunCampaignRequest* request,
                       v1::RerunCampaignResponse* response) override {
    return calls_.Answer(context, "RerunCampaign", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("campaign", request->campaign()));
      ASSAY_ASSIGN_OR_RETURN(*response->mutable_campaign(),
                             coordinator_.RerunCampaign(*request, assay::rpc::CallerOf(*context)));
      return Status::Ok();
    });
  }

  Unary* ListJobs(Context* context, const v1::ListJobsRequest* request,
                  v1::ListJobsResponse* response) override {
    return calls_.Answer(context, "ListJobs", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("campaign", request->campaign()));
      ASSAY_ASSIGN_OR_RETURN(const PageRequest page, PageOf(*request, 1000));
      ASSAY_ASSIGN_OR_RETURN(Page<v1::Job> found, coordinator_.ListJobs(request->campaign(), page));
      FillPage(std::move(found), response->mutable_jobs(), response->mutable_next_page_token());
      return Status::Ok();
    });
  }

  grpc::ServerWriteReactor<v1::WatchCampaignResponse>* WatchCampaign(
      Context* context, const v1::WatchCampaignRequest* request) override {
    return NewWatch(coordinator_, calls_, *context, *request);
  }

  Unary* GetCampaignProgress(Context* context, const v1::GetCampaignProgressRequest* request,
                             v1::GetCampaignProgressResponse* response) override {
    return calls_.AnswerRead(context, "GetCampaignProgress", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("campaign", request->campaign()));
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.figures().GetProgress(request->campaign()));
      return Status::Ok();
    });
  }

  Unary* ListFleetBenchmarks(Context* context, const v1::ListFleetBenchmarksRequest*,
                             v1::ListFleetBenchmarksResponse* response) override {
    return calls_.Answer(context, "ListFleetBenchmarks", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::FleetBenchmark> found,
                             coordinator_.ListFleetBenchmarks());
      response->mutable_benchmarks()->Assign(found.begin(), found.end());
      return Status::Ok();
    });
  }
};

class NodeServiceImpl : public CoordinatorService<v1::NodeService::CallbackService> {
 public:
  // All arguments must outlive the service.
  NodeServiceImpl(Coordinator& coordinator, Dialer& dialer, const Calls& calls)
      : CoordinatorService(coordinator, calls), dialer_(dialer) {}

  Unary* ListNodes(Context* context, const v1::ListNodesRequest* request,
                   v1::ListNodesResponse* response) override {
    return calls_.Answer(context, "ListNodes", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(const PageRequest page, PageOf(*request, 1000));
      ASSAY_ASSIGN_OR_RETURN(Page<v1::Node> found,
                             coordinator_.ListNodes(request->filter(), request->view(), page));
      FillPage(std::move(found), response->mutable_nodes(), response->mutable_next_page_token());
      return Status::Ok();
    });
  }

  Unary* GetNode(Context* context, const v1::GetNodeRequest* request,
                 v1::GetNodeResponse* response) override {
    return calls_.Answer(context, "GetNode", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("node", request->node()));
      ASSAY_ASSIGN_OR_RETURN(*response->mutable_node(), coordinator_.GetNode(request->node()));
      return Status::Ok();
    });
  }

  Unary* GetFleet(Context* context, const v1::GetFleetRequest* request,
                  v1::GetFleetResponse* response) override {
    return calls_.AnswerRead(context, "GetFleet", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response, FleetOf(coordinator_.fleet_view(), request->filter()));
      return Status::Ok();
    });
  }

  grpc::ServerWriteReactor<v1::WatchFleetResponse>* WatchFleet(
      Context* context, const v1::WatchFleetRequest* request) override {
    return NewFleetWatch(coordinator_, calls_, *context, request->filter());
  }

  Unary* AddNode(Context* context, const v1::AddNodeRequest* request,
                 v1::AddNodeResponse* response) override {
    return calls_.AnswerLater(context, "AddNode", [=, this](const Calls::Done& done) -> Status {
      const std::string& address = request->address();
      if (!coordinator_.leadership().IsLeader()) return NotTheLeader();
      const bool known = dialer_.Dials(address);
      ASSAY_RETURN_IF_ERROR(dialer_.Dial(address));
      dialer_.AwaitHello(address, kHelloPatience, [=, this](Result<Agent> agent) {
        if (!agent.ok()) {
          // Stop dialing an address where no agent answers, unless it was dialed before.
          if (!known) dialer_.Forget(address);
          return done(agent.status());
        }
        calls_.executor().Post([=, this, agent = *std::move(agent)] {
          done(Guarded("AddNode", [&] { return StoreAdded(address, agent, response); }));
        });
      });
      return Status::Ok();
    });
  }

  Unary* RemoveNode(Context* context, const v1::RemoveNodeRequest* request,
                    v1::RemoveNodeResponse*) override {
    return calls_.Answer(context, "RemoveNode", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("node", request->node()));
      ASSAY_ASSIGN_OR_RETURN(const v1::Node removed, coordinator_.RemoveNode(request->node()));
      if (!removed.dial_address().empty()) dialer_.Forget(removed.dial_address());
      return Status::Ok();
    });
  }

  Unary* CordonNode(Context* context, const v1::CordonNodeRequest* request,
                    v1::CordonNodeResponse* response) override {
    return AnswerWithNode(context, "CordonNode", request, response, [=, this] {
      return coordinator_.CordonNode(*request, assay::rpc::CallerOf(*context));
    });
  }

  Unary* UncordonNode(Context* context, const v1::UncordonNodeRequest* request,
                      v1::UncordonNodeResponse* response) override {
    return AnswerWithNode(context, "UncordonNode", request, response, [=, this] {
      return coordinator_.UncordonNode(request->node(), assay::rpc::CallerOf(*context));
    });
  }

  Unary* DrainNode(Context* context, const v1::DrainNodeRequest* request,
                   v1::DrainNodeResponse* response) override {
    return AnswerWithNode(context, "DrainNode", request, response, [=, this] {
      return coordinator_.DrainNode(*request, assay::rpc::CallerOf(*context));
    });
  }

  Unary* UpdateNode(Context* context, const v1::UpdateNodeRequest* request,
                    v1::UpdateNodeResponse* response) override {
    return AnswerWithNode(context, "UpdateNode", request, response, [=, this] {
      return coordinator_.UpdateNode(*request, assay::rpc::CallerOf(*context));
    });
  }

 private:
  // Only the leader dials agents.
  Status NotTheLeader() const {
    const std::string leader = coordinator_.leadership().LeaderAddress();
    return Unavailable("another coordinator schedules the fleet and adds its nodes",
                       Reason::kOtherCoordinator)
        .WithHint(leader.empty() ? "try again in a moment" : "ask the coordinator at " + leader);
  }
  // Answers with the node that `change` returns.
  template <typename Request, typename Response, typename Change>
  Unary* AnswerWithNode(Context* context, const char* method, const Request* request,
                        Response* response, Change change) const {
    return calls_.Answer(context, method, [=]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("node", request->node()));
      ASSAY_ASSIGN_OR_RETURN(*response->mutable_node(), change());
      return Status::Ok();
    });
  }
  Status StoreAdded(const std::string& address, const Agent& agent, v1::AddNodeResponse* response) {
    ASSAY_RETURN_IF_ERROR(coordinator_.AddDialAddress(address));
    ASSAY_ASSIGN_OR_RETURN(*response->mutable_node(), coordinator_.GetNode(agent.node_id));
    return Status::Ok();
  }

  Dialer& dialer_;
};

class ResultServiceImpl : public CoordinatorService<v1::ResultService::CallbackService> {
 public:
  using CoordinatorService::CoordinatorService;

  Unary* ListResults(Context* context, const v1::ListResultsRequest* request,
                     v1::ListResultsResponse* response) override {
    return calls_.AnswerRead(context, "ListResults", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(const PageRequest page, PageOf(*request, 1000));
      ASSAY_ASSIGN_OR_RETURN(
          storage::ResultPage found,
          coordinator_.ListResults(request->filter(), page, request->order_by()));
      response->set_remaining_count(found.remaining);
      FillPage<v1::StoredResult>(std::move(found), response->mutable_results(),
                                 response->mutable_next_page_token());
      return Status::Ok();
    });
  }

  Unary* GroupResults(Context* context, const v1::GroupResultsRequest* request,
                      v1::GroupResultsResponse* response) override {
    return calls_.AnswerRead(context, "GroupResults", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.GroupResults(*request));
      return Status::Ok();
    });
  }

  Unary* GetResult(Context* context, const v1::GetResultRequest* request,
                   v1::GetResultResponse* response) override {
    return calls_.AnswerRead(context, "GetResult", [=, this]() -> Status {
      ASSAY_RETURN_IF_ERROR(CheckReference("result_id", request->result_id()));
      ASSAY_ASSIGN_OR_RETURN(*response->mutable_result(),
                             coordinator_.GetResult(request->result_id()));
      return Status::Ok();
    });
  }

  Unary* TabulateResults(Context* context, const v1::TabulateResultsRequest* request,
                         v1::TabulateResultsResponse* response) override {
    return calls_.AnswerRead(context, "TabulateResults", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.figures().Tabulate(*request));
      return Status::Ok();
    });
  }

  Unary* ListFacets(Context* context, const v1::ListFacetsRequest* request,
                    v1::ListFacetsResponse* response) override {
    return calls_.AnswerRead(context, "ListFacets", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.figures().ListFacets(*request));
      return Status::Ok();
    });
  }

  Unary* ImportResults(Context* context, const v1::ImportResultsRequest* request,
                       v1::ImportResultsResponse* response) override {
    return calls_.Answer(context, "ImportResults", [=, this]() -> Status {
      ASSAY_ASSIGN_OR_RETURN(*response, coordinator_.ImportResults(*request));
      return Status::Ok();
    });
  }
};

// The server side of a session stream opened by an agent. The object deletes itself in OnDone, the
// last callback from gRPC.
class AttachReactor : public grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>,
                      public StreamOperations {
 public:
  AttachReactor(Coordinator& coordinator, const Calls& calls, Context& context)
      : calls_(calls),
        context_(context),
        peer_(assay::rpc::CallerOf(context)),
        peer_uri_(assay::rpc::IsThroughProxy(context) ? "" : context.peer()),
        link_(std::make_shared<StreamLink>(this)) {
    link_->Start(coordinator.OpenSession(link_, ""));
    calls_.executor().PostAfter(kHelloPatience, [link = std::weak_ptr<StreamLink>(link_)] {
      if (const auto open = link.lock()) open->RequireMessage();
    });
    place_ = calls_.streams()->Add(
        peer_, [&calls, link = std::weak_ptr<StreamLink>(link_)](const Status& status) {
          if (const auto open = link.lock()) open->Close(status);
          calls.executor().PostAfter(kEndPatience, [link] {
            if (const auto open = link.lock()) open->Cancel();
          });
        });
  }

  void Read() override { StartRead(&inbound_); }
  void Write(const v1::CoordinatorMessage* message) override { StartWrite(message); }
  Identity Peer() const override { return peer_; }
  std::string PeerUri() const override { return peer_uri_; }
  void Finish(const Status& status) override {
    calls_.Count("Attach", status.code());
    ServerBidiReactor::Finish(assay::rpc::ToGrpc(status));
  }

  void Cancel() override { context_.TryCancel(); }

  void OnReadDone(bool ok) override {
    Reaction("Attach.OnReadDone", [&] { link_->OnReadDone(ok, std::exchange(inbound_, {})); });
  }
  void OnWriteDone(bool ok) override {
    Reaction("Attach.OnWriteDone", [&] { link_->OnWriteDone(ok); });
  }
  void OnCancel() override {
    Reaction("Attach.OnCancel", [&] { link_->OnBroken(); });
  }
  void OnDone() override {
    Reaction("Attach.OnDone", [&] { link_->OnDone(); });
    delete this;
  }

 private:
  const Calls& calls_;
  Context& context_;
  const Identity peer_;
  const std::string peer_uri_;
  v1::AgentMessage inbound_;
  const std::shared_ptr<StreamLink> link_;
  OpenStreams::Place place_;
};

class FleetServiceImpl : public CoordinatorService<v1::FleetService::CallbackService> {
 public:
  using CoordinatorService::CoordinatorService;

  grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>* Attach(
      Context* context) override {
    return new AttachReactor(coordinator_, calls_, *context);
  }
};

void ApplyThreadLimits(grpc::ServerBuilder& builder) {
  // Reflection is the only service that uses the threaded API.
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 2);
}

}  // namespace

Server::Server(Coordinator& coordinator, ServerOptions options, assay::rpc::CallerCheck check)
    : coordinator_(coordinator),
      address_(options.listen),
      readers_(NewThreadPool(kReaders, "readers")),
      calls_(coordinator.executor(), *readers_, std::move(options.counter), std::move(check)),
      dialer_(coordinator, calls_, std::move(options.agent_tls), options.insecure) {
  services_.push_back(std::make_unique<FleetServiceImpl>(coordinator, calls_));
  services_.push_back(std::make_unique<CampaignServiceImpl>(coordinator, calls_));
  services_.push_back(std::make_unique<NodeServiceImpl>(coordinator, dialer_, calls_));
  services_.push_back(std::make_unique<ResultServiceImpl>(coordinator, calls_));
  services_.push_back(NewAnalysisService(coordinator, calls_));
  services_.push_back(NewNoteService(coordinator, calls_));
  services_.push_back(NewScheduleService(coordinator, calls_));
  services_.push_back(NewIdentityService(options.membership, calls_));
}

Result<std::unique_ptr<Server>> Server::Start(Coordinator& coordinator, ServerOptions options) {
  assay::rpc::CallerCheck check;
  if (options.membership != nullptr) {
    check = [bans = &options.membership->bans](const Identity& caller) {
      return bans->Check(caller);
    };
  }
  const HostPort& listen = options.acceptor ? options.acceptor->address() : options.listen;
  ASSAY_ASSIGN_OR_RETURN(const auto credentials, assay::rpc::ServerCredentials(
                                                     listen, options.tls, options.insecure, check));
  std::unique_ptr<assay::rpc::Acceptor> acceptor = std::move(options.acceptor);
  if (!acceptor) {
    ASSAY_ASSIGN_OR_RETURN(
        acceptor,
        assay::rpc::Acceptor::Listen(options.listen, assay::rpc::ConnectionLimits::OfProcess()));
  }
  const Membership* const membership = options.membership;
  std::unique_ptr<Server> server(new Server(coordinator, std::move(options), std::move(check)));
  server->address_ = acceptor->address();
  if (membership != nullptr) {
    membership->bans.OnChange([weak = std::weak_ptr<OpenStreams>(server->calls_.streams())] {
      if (const auto streams = weak.lock()) streams->Recheck();
    });
  }
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  acceptor->Register(builder, credentials);
  assay::rpc::ApplyServerLimits(builder);
  ApplyThreadLimits(builder);
  for (const auto& service : server->services_) builder.RegisterService(service.get());
  server->server_ = builder.BuildAndStart();
  if (!server->server_) return Internal("the gRPC server cannot be started");
  server->acceptor_ = std::move(acceptor);
  server->acceptor_->Start();
  server->calls_.streams()->Follow();
  coordinator.OnAttached(
      [dialer = &server->dialer_](const Agent& agent) { dialer->OnAttached(agent); });
  return server;
}

Status Server::Check() const {
  ASSAY_RETURN_IF_ERROR(acceptor_->Check(kCheckPatience));
  grpc::GenericStub stub(LocalChannel());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCheckPatience);
  grpc::CompletionQueue queue;
  // Send an empty message, which differs from sending no message.
  const grpc::Slice empty;
  const grpc::ByteBuffer request(&empty, 1);
  const auto call =
      stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  grpc::ByteBuffer answer;
  grpc::Status status;
  call->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return assay::rpc::FromGrpc(status).WithContext("the gRPC server does not answer");
}

std::shared_ptr<grpc::Channel> Server::LocalChannel() const {
  return server_->InProcessChannel(assay::rpc::ClientArguments());
}

Server::~Server() {
  Shutdown(std::chrono::seconds(1));
  // End the tasks before calls_, which they use.
  readers_ = nullptr;
}

void Server::Shutdown(Duration patience) {
  if (!server_) return;
  acceptor_ = nullptr;
  if (auto* health = server_->GetHealthCheckService()) health->SetServingStatus(false);
  coordinator_.Shutdown(kReconnectAfter);
  dialer_.Stop(patience);
  // Cancels watches and calls that have not ended at the deadline.
  server_->Shutdown(std::chrono::system_clock::now() + patience);
  server_->Wait();
  server_ = nullptr;
}

}  // namespace assay::coordinator::rpc
