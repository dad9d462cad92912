// Tests the coordinator's server with real gRPC on loopback and fake stores.
#include "coordinator/rpc/server.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <set>

#include "assay/v1/agent_service.grpc.pb.h"
#include "assay/v1/analysis_service.grpc.pb.h"
#include "assay/v1/campaign_service.grpc.pb.h"
#include "assay/v1/fleet_service.grpc.pb.h"
#include "assay/v1/node_service.grpc.pb.h"
#include "assay/v1/result_service.grpc.pb.h"
#include "assay/v1/schedule_service.grpc.pb.h"
#include "common/uuid.h"
#include "common/violations.h"
#include "coordinator/rpc/stream_link.h"
#include "storage/fakes/fake_stores.h"
#include "tests/unit/campaign/fleet_records.h"
#include "wire/status_conversion.h"

namespace assay::coordinator::rpc {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);

// A store of results whose lists block while the gate is closed.
class GatedResultStore : public storage::FakeResultStore {
 public:
  using FakeResultStore::FakeResultStore;

  void SetOpen(bool open) {
    MutexLock lock(mutex_);
    open_ = open;
    opened_.NotifyAll();
  }

  Result<storage::ResultPage> List(const std::string& filter, const PageRequest& page,
                                   const std::string& order) override {
    {
      MutexLock lock(mutex_);
      while (!open_) opened_.Wait(mutex_);
    }
    return FakeResultStore::List(filter, page, order);
  }

 private:
  Mutex mutex_;
  CondVar opened_;
  bool open_ ASSAY_GUARDED_BY(mutex_) = true;
};

class ServerTest : public ::testing::Test {
 protected:
  void Serve(ServerOptions options = {}) {
    options.listen = {"127.0.0.1", 0};
    coordinator_->Start();
    auto server = Server::Start(*coordinator_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ =
        grpc::CreateChannel(server_->address().ToString(), grpc::InsecureChannelCredentials());
  }

  void TearDown() override {
    results_.SetOpen(true);
    if (server_) server_->Shutdown(std::chrono::seconds(2));
    executor_ = nullptr;
  }

  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
  }

  using Stream = grpc::ClientReaderWriterInterface<v1::AgentMessage, v1::CoordinatorMessage>;
  // Sends a Hello and waits for the answer.
  static void Hello(Stream& stream, const v1::Node& node) {
    v1::AgentMessage hello;
    *hello.mutable_hello()->mutable_node() = node.description();
    hello.mutable_hello()->set_protocol_revision(1);
    ASSERT_TRUE(stream.Write(hello));
    v1::CoordinatorMessage ack;
    ASSERT_TRUE(stream.Read(&ack));
    ASSERT_TRUE(ack.has_hello_ack());
  }

  using Changes = grpc::ClientReaderInterface<v1::WatchCampaignResponse>;
  // `context` must outlive the returned reader.
  std::unique_ptr<Changes> Watch(grpc::ClientContext& context, const std::string& campaign) {
    SetDeadline(context);
    v1::WatchCampaignRequest request;
    request.set_campaign(campaign);
    return v1::CampaignService::NewStub(channel_)->WatchCampaign(&context, request);
  }

  Clock& clock_ = Clock::Real();
  storage::FakeDatabase database_{clock_};
  storage::FakeJobStore jobs_{database_};
  storage::FakeNodeStore nodes_{database_};
  GatedResultStore results_{database_};
  storage::FakeFleetStore fleet_{database_};
  storage::FakeWorkStore work_{database_};
  storage::FakeAnalysisStore analysis_{database_};
  storage::FakeScheduleStore schedules_{database_};
  Observer observer_;
  std::unique_ptr<Executor> executor_ = NewThreadPool(2, "test");
  std::unique_ptr<Coordinator> coordinator_ =
      std::make_unique<Coordinator>(Environment{clock_, *executor_, jobs_, results_, nodes_, fleet_,
                                                work_, analysis_, schedules_, observer_},
                                    Options{"c"});
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

// Calls a method and returns the code of the answer.
template <typename Stub, typename Request, typename Response>
grpc::StatusCode CodeOf(Stub& stub,
                        grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        const Request& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  Response response;
  return (stub.*method)(&context, request, &response).error_code();
}

TEST_F(ServerTest, CallsForSchedules_AreAnswered) {
  Serve();
  using Schedules = v1::ScheduleService::Stub;
  const auto schedules = v1::ScheduleService::NewStub(channel_);
  v1::CreateScheduleRequest create;
  EXPECT_EQ(CodeOf(*schedules, &Schedules::CreateSchedule, create), grpc::INVALID_ARGUMENT);
  create.mutable_schedule()->set_name("nightly");
  create.mutable_schedule()->set_cron("@daily");
  *create.mutable_schedule()->mutable_spec() = MakeSpec("cpu_gemm");
  EXPECT_EQ(CodeOf(*schedules, &Schedules::CreateSchedule, create), grpc::FAILED_PRECONDITION)
      << "no node has connected yet";
  const v1::Node node = MakeFleetNode("a", '1', 0);
  ASSERT_TRUE(nodes_.Connect("c", node.description(), "", std::chrono::minutes(1)).ok());
  EXPECT_EQ(CodeOf(*schedules, &Schedules::CreateSchedule, create), grpc::OK);
  EXPECT_EQ(CodeOf(*schedules, &Schedules::CreateSchedule, create), grpc::ALREADY_EXISTS);
  EXPECT_EQ(CodeOf(*schedules, &Schedules::ListSchedules, {}), grpc::OK);
  v1::DeleteScheduleRequest remove;
  EXPECT_EQ(CodeOf(*schedules, &Schedules::DeleteSchedule, remove), grpc::INVALID_ARGUMENT);
  remove.set_schedule("nightly");
  EXPECT_EQ(CodeOf(*schedules, &Schedules::DeleteSchedule, remove), grpc::OK);
  EXPECT_EQ(CodeOf(*schedules, &Schedules::DeleteSchedule, remove), grpc::NOT_FOUND);
}

TEST_F(ServerTest, CallsForFigures_AreAnswered) {
  Serve();
  using Results = v1::ResultService::Stub;
  using Analysis = v1::AnalysisService::Stub;
  using Campaigns = v1::CampaignService::Stub;
  const auto results = v1::ResultService::NewStub(channel_);
  const auto analysis = v1::AnalysisService::NewStub(channel_);
  const auto campaigns = v1::CampaignService::NewStub(channel_);
  v1::TabulateResultsRequest table;
  EXPECT_EQ(CodeOf(*results, &Results::TabulateResults, table), grpc::INVALID_ARGUMENT);
  table.add_fields("median");
  EXPECT_EQ(CodeOf(*results, &Results::TabulateResults, table), grpc::OK);
  EXPECT_EQ(CodeOf(*results, &Results::ListFacets, {}), grpc::OK);
  EXPECT_EQ(CodeOf(*analysis, &Analysis::GetRoofline, {}), grpc::OK);
  v1::GetPairsRequest pairs;
  EXPECT_EQ(CodeOf(*analysis, &Analysis::GetPairs, pairs), grpc::INVALID_ARGUMENT);
  pairs.set_campaign("nope");
  EXPECT_EQ(CodeOf(*analysis, &Analysis::GetPairs, pairs), grpc::NOT_FOUND);
  v1::GetCampaignProgressRequest progress;
  EXPECT_EQ(CodeOf(*campaigns, &Campaigns::GetCampaignProgress, progress), grpc::INVALID_ARGUMENT);
  progress.set_campaign("nope");
  EXPECT_EQ(CodeOf(*campaigns, &Campaigns::GetCampaignProgress, progress), grpc::NOT_FOUND);
}

TEST_F(ServerTest, Campaign_RunsOverTheWire) {
  Serve();
  grpc::ClientContext attach_context;
  SetDeadline(attach_context);
  const auto stream = v1::FleetService::NewStub(channel_)->Attach(&attach_context);
  Hello(*stream, MakeFleetNode("a", '1', 0));

  const auto campaigns = v1::CampaignService::NewStub(channel_);
  v1::CreateCampaignRequest create;
  *create.mutable_spec() = MakeSpec("cpu_gemm");
  v1::CreateCampaignResponse created;
  {
    grpc::ClientContext context;
    SetDeadline(context);
    ASSERT_TRUE(campaigns->CreateCampaign(&context, create, &created).ok());
  }
  v1::CoordinatorMessage assign;
  ASSERT_TRUE(stream->Read(&assign));
  ASSERT_TRUE(assign.has_assign()) << assign.DebugString();

  grpc::ClientContext watch_context;
  const auto changes = Watch(watch_context, created.campaign().campaign_id());
  v1::WatchCampaignResponse change;
  ASSERT_TRUE(changes->Read(&change));
  EXPECT_EQ(change.campaign().state(), v1::CAMPAIGN_STATE_ACTIVE);

  v1::AgentMessage finished;
  finished.mutable_job_finished()->set_job_id(assign.assign().job().job_id());
  finished.mutable_job_finished()->set_epoch(assign.assign().job().epoch());
  finished.mutable_job_finished()->mutable_failure()->set_failure_class(v1::FAILURE_CLASS_USER);
  ASSERT_TRUE(stream->Write(finished));
  while (changes->Read(&change)) {
  }
  EXPECT_TRUE(changes->Finish().ok());
  EXPECT_EQ(change.campaign().verdict(), v1::VERDICT_FAILED);
  stream->WritesDone();
  v1::CoordinatorMessage rest;
  while (stream->Read(&rest)) {
  }
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(ServerTest, NodeThatDialledUs_IsNotRemovedWhileConnected) {
  const v1::NodeDescription node = MakeFleetNode("a", '1', 0).description();
  ASSERT_TRUE(nodes_.Connect("c", node, "", std::chrono::minutes(1)).ok());
  Serve();
  v1::RemoveNodeRequest request;
  request.set_node("a");
  v1::RemoveNodeResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const Status refused = assay::rpc::FromGrpc(
      v1::NodeService::NewStub(channel_)->RemoveNode(&context, request, &response));
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_EQ(refused.reason(), Reason::kFailedPrecondition);
  EXPECT_EQ(nodes_.ListNodes(std::chrono::minutes(1), storage::NodeStore::Benchmarks::kYes)->size(),
            1U);
}

TEST_F(ServerTest, DryRun_SaysWhichNodesAreCovered) {
  const v1::NodeDescription node = MakeFleetNode("a", '1', 0).description();
  ASSERT_TRUE(nodes_.Connect("c", node, "", std::chrono::minutes(1)).ok());
  const v1::NodeDescription away = MakeFleetNode("b", '2', 0).description();
  ASSERT_TRUE(nodes_.Connect("c", away, "", std::chrono::minutes(1)).ok());
  ASSERT_TRUE(nodes_.Disconnect("c", away.node_id()).ok());
  Serve();
  v1::CreateCampaignRequest request;
  *request.mutable_spec() = MakeSpec("cpu_gemm");
  request.mutable_spec()->mutable_coverage()->set_node_count(99);
  request.set_validate_only(true);
  v1::CreateCampaignResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  ASSERT_TRUE(
      v1::CampaignService::NewStub(channel_)->CreateCampaign(&context, request, &response).ok());
  EXPECT_EQ(response.campaign().coverage().node_count(), 2);
  EXPECT_EQ(response.campaign().coverage().absent_nodes(0), "b");
  EXPECT_FALSE(response.campaign().spec().has_coverage());
  EXPECT_EQ(response.estimate().cases_from_method(), response.campaign().case_count());
}

TEST_F(ServerTest, Watch_NamesTheNodeThatJobsWaitFor) {
  storage::NewCampaign campaign;
  campaign.campaign_id = campaign.request_id = "11111111-2222-4333-8444-555555555555";
  campaign.jobs.emplace_back().job_id = "job";
  campaign.jobs[0].candidate_node_ids = {"gone"};
  ASSERT_TRUE(jobs_.CreateCampaign(campaign).ok());
  Serve();
  grpc::ClientContext context;
  const auto changes = Watch(context, campaign.campaign_id);
  v1::WatchCampaignResponse change;
  ASSERT_TRUE(changes->Read(&change));
  ASSERT_EQ(change.campaign().waiting_size(), 1);
  EXPECT_EQ(change.campaign().waiting(0).nodes(0).name(), "gone");
  context.TryCancel();
}

TEST_F(ServerTest, Watch_SplitsChangesThatExceedAMessage) {
  constexpr int kJobs = 40;
  const v1::NodeDescription node = MakeFleetNode("a", '1', 0).description();
  ASSERT_TRUE(nodes_.Connect("c", node, "", std::chrono::minutes(1)).ok());
  storage::NewCampaign campaign;
  campaign.campaign_id = campaign.request_id = "11111111-2222-4333-8444-555555555555";
  for (int i = 0; i < kJobs; ++i) {
    campaign.jobs.emplace_back().job_id = "job" + std::to_string(i);
    campaign.jobs.back().candidate_node_ids = {node.node_id()};
    campaign.jobs.back().exclusive_node = false;
    campaign.jobs.back().gpu_indices = {i};
  }
  ASSERT_TRUE(jobs_.CreateCampaign(campaign).ok());
  const auto leased = jobs_.ClaimJobs({"c", std::chrono::minutes(1), {node.node_id()}, kJobs});
  ASSERT_EQ(leased->size(), static_cast<size_t>(kJobs));
  for (const storage::LeasedJob& job : *leased) {
    storage::FinishedAttempt attempt;
    attempt.job = {job.job.job_id, job.epoch};
    attempt.disposition = storage::Disposition::kFailed;
    attempt.failure.emplace().set_evidence(std::string(1 << 20, 'x'));
    ASSERT_TRUE(jobs_.FinishAttempt(attempt).ok());
  }
  ASSERT_TRUE(jobs_.SetVerdict(campaign.campaign_id, v1::VERDICT_FAILED, {}).ok());
  Serve();
  grpc::ClientContext context;
  const auto changes = Watch(context, campaign.campaign_id);
  std::set<std::string> received;
  v1::WatchCampaignResponse change;
  while (changes->Read(&change)) {
    const bool all = received.size() + static_cast<size_t>(change.jobs_size()) == kJobs;
    EXPECT_EQ(change.campaign().verdict() == v1::VERDICT_FAILED, all);
    for (const v1::Job& job : change.jobs()) received.insert(job.job_id());
  }
  EXPECT_TRUE(changes->Finish().ok());
  EXPECT_EQ(received.size(), kJobs);
}

TEST_F(ServerTest, Lists_ArePagedByMessageSize) {
  constexpr int kNodes = 60;
  for (int i = 0; i < kNodes; ++i) {
    v1::NodeDescription node = MakeFleetNode("n" + std::to_string(i), '1', 0).description();
    node.set_node_id("node" + std::to_string(i));
    node.mutable_inventory()->mutable_cpu()->set_model(std::string(100'000, 'x'));
    ASSERT_TRUE(nodes_.Connect("c", node, "", std::chrono::minutes(1)).ok());
  }
  Serve();
  std::set<std::string> listed;
  v1::ListNodesRequest request;
  v1::ListNodesResponse page;
  do {
    grpc::ClientContext context;
    SetDeadline(context);
    request.set_page_token(page.next_page_token());
    const grpc::Status status =
        v1::NodeService::NewStub(channel_)->ListNodes(&context, request, &page);
    ASSERT_TRUE(status.ok()) << status.error_message();
    for (const v1::Node& node : page.nodes()) listed.insert(node.description().node_id());
  } while (!page.next_page_token().empty());
  EXPECT_EQ(listed.size(), kNodes);
}

TEST_F(ServerTest, ListNodes_LeavesOutDetailsUnlessAskedForAll) {
  v1::NodeDescription node = MakeFleetNode("a", '1', 2).description();
  node.mutable_inventory()->add_gpu_links()->set_kind("NV18");
  node.add_health()->set_check("disk_free");
  node.mutable_health(0)->set_message("1 GB is free");
  ASSERT_TRUE(nodes_.Connect("c", node, "", std::chrono::minutes(1)).ok());
  Serve();
  const auto list = [&](v1::NodeView view) {
    v1::ListNodesRequest request;
    request.set_view(view);
    request.set_filter("benchmark = gemm");
    v1::ListNodesResponse page;
    grpc::ClientContext context;
    SetDeadline(context);
    const grpc::Status status =
        v1::NodeService::NewStub(channel_)->ListNodes(&context, request, &page);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return page.nodes_size() == 1 ? page.nodes(0).description() : v1::NodeDescription();
  };
  EXPECT_EQ(list(v1::NODE_VIEW_FULL).SerializeAsString(), node.SerializeAsString());
  for (const auto view : {v1::NODE_VIEW_UNSPECIFIED, v1::NODE_VIEW_BASIC}) {
    const v1::NodeDescription basic = list(view);
    EXPECT_EQ(basic.inventory().gpus_size(), 2);
    ASSERT_EQ(basic.health_size(), 1);
    EXPECT_EQ(basic.health(0).check(), "disk_free");
    EXPECT_EQ(basic.health(0).message(), "");
    EXPECT_EQ(basic.benchmarks_size(), 0);
    EXPECT_EQ(basic.inventory().gpu_links_size(), 0);
  }
}

TEST_F(ServerTest, QueriesOfResults_BeyondTheirLimitAreRefusedAndDelayNoOtherCall) {
  constexpr int kRunOrWait = 34;
  Serve();
  results_.SetOpen(false);
  const auto stub = v1::ResultService::NewStub(channel_);
  struct Query {
    grpc::ClientContext context;
    v1::ListResultsResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::ListResultsResponse>> call;
  };
  std::vector<Query> queries(kRunOrWait + 1);
  grpc::CompletionQueue ended;
  for (Query& query : queries) {
    SetDeadline(query.context);
    query.call = stub->AsyncListResults(&query.context, {}, &ended);
    query.call->Finish(&query.response, &query.status, &query);
  }
  const auto next = [&] {
    void* query = nullptr;
    bool ok = false;
    EXPECT_TRUE(ended.Next(&query, &ok));
    return assay::rpc::FromGrpc(static_cast<Query*>(query)->status);
  };
  const Status refused = next();  // The others wait for the gate.
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.reason(), Reason::kOverloaded);
  EXPECT_FALSE(refused.hint().empty());

  v1::ListCampaignsResponse campaigns;
  grpc::ClientContext context;
  SetDeadline(context);
  EXPECT_TRUE(v1::CampaignService::NewStub(channel_)->ListCampaigns(&context, {}, &campaigns).ok());

  results_.SetOpen(true);
  for (int i = 0; i < kRunOrWait; ++i) EXPECT_TRUE(next().ok());
}

TEST_F(ServerTest, Violations_KeepTheirLines) {
  Serve();
  v1::CreateCampaignRequest request;
  *request.mutable_spec() = MakeSpec("nonsense");
  v1::CreateCampaignResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const Status status = assay::rpc::FromGrpc(
      v1::CampaignService::NewStub(channel_)->CreateCampaign(&context, request, &response));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  ASSERT_EQ(status.violations().size(), 2u) << status;  // No node, no such benchmark.
  EXPECT_EQ(status.violations()[1].line, 4);
}

// gRPC itself would end the call with RESOURCE_EXHAUSTED if the trailer exceeded 8 KiB.
TEST_F(ServerTest, Violations_AreTruncatedToTheTrailer) {
  Serve();
  for (const std::string& text : {std::string(50, 'x'), std::string(1000, '%')}) {
    v1::CreateCampaignRequest request;
    *request.mutable_spec() = MakeSpec("gemm");
    for (int line = 10; line < 200; ++line) {
      v1::BenchmarkMatrix* const matrix = request.mutable_spec()->add_benchmarks();
      matrix->set_benchmark(text);
      matrix->set_line(line);
    }
    request.mutable_spec()->set_node_filter("name = \"" + text + "\"");
    v1::CreateCampaignResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    const Status status = assay::rpc::FromGrpc(
        v1::CampaignService::NewStub(channel_)->CreateCampaign(&context, request, &response));
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status;
    ASSERT_GT(status.violations().size(), 5u) << status;
    EXPECT_EQ(status.violations()[4].line, 12);
    EXPECT_EQ(status.violations().back().field, "");
    EXPECT_EQ(status.violations().back().description, kMoreErrors);
  }
}

TEST_F(ServerTest, MalformedClient_IsRefused) {
  Serve();
  for (const bool empty_hello : {false, true}) {
    grpc::ClientContext context;
    SetDeadline(context);
    const auto stream = v1::FleetService::NewStub(channel_)->Attach(&context);
    v1::AgentMessage message;
    if (empty_hello) {
      message.mutable_hello();
    } else {
      message.mutable_state()->set_sequence(1);
    }
    stream->Write(message);
    v1::CoordinatorMessage answer;
    EXPECT_FALSE(stream->Read(&answer));
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(ServerTest, Requests_AreValidated) {
  Serve();
  const auto nodes = v1::NodeService::NewStub(channel_);
  v1::ListNodesResponse listed;
  v1::ListNodesRequest list;
  list.set_page_size(-1);
  grpc::ClientContext first;
  SetDeadline(first);
  EXPECT_EQ(nodes->ListNodes(&first, list, &listed).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  list.set_page_size(0);
  list.set_page_token("forged");
  grpc::ClientContext second;
  SetDeadline(second);
  EXPECT_EQ(nodes->ListNodes(&second, list, &listed).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  v1::AddNodeRequest add;
  add.set_address("nowhere");
  v1::AddNodeResponse added;
  grpc::ClientContext third;
  SetDeadline(third);
  EXPECT_EQ(nodes->AddNode(&third, add, &added).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerTest, PortInUse_IsAnError) {
  Serve();
  ServerOptions options;
  options.listen = server_->address();
  const auto second = Server::Start(*coordinator_, std::move(options));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().reason(), Reason::kAddressInUse);
}

// An agent that the coordinator dials.
class DialledAgent : public v1::AgentService::Service {
 public:
  grpc::Status Session(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>* stream) override {
    v1::AgentMessage hello;
    *hello.mutable_hello()->mutable_node() = MakeFleetNode("dialled", '7', 0).description();
    hello.mutable_hello()->set_protocol_revision(1);
    stream->Write(hello);
    v1::CoordinatorMessage message;
    while (stream->Read(&message)) {
    }
    return grpc::Status::OK;
  }
};

TEST_F(ServerTest, AddedNode_IsDialledUntilRemoved) {
  Serve();
  DialledAgent agent;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&agent);
  const auto agent_server = builder.BuildAndStart();
  const std::string address = "127.0.0.1:" + std::to_string(port);

  const auto nodes = v1::NodeService::NewStub(channel_);
  v1::AddNodeRequest add;
  add.set_address(address);
  v1::AddNodeResponse added;
  grpc::ClientContext add_context;
  SetDeadline(add_context);
  const grpc::Status status = nodes->AddNode(&add_context, add, &added);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(added.node().description().name(), "dialled");
  EXPECT_EQ(added.node().dial_address(), address);
  EXPECT_THAT(*nodes_.ListDialAddresses(), ::testing::ElementsAre(address));

  v1::RemoveNodeRequest remove;
  remove.set_node("dialled");
  v1::RemoveNodeResponse removed;
  grpc::ClientContext remove_context;
  SetDeadline(remove_context);
  EXPECT_TRUE(nodes->RemoveNode(&remove_context, remove, &removed).ok());
  EXPECT_TRUE(nodes_.ListDialAddresses()->empty());
  EXPECT_FALSE(server_->dialer().Dials(address));
  agent_server->Shutdown();
}

TEST(OutboundQueueTest, Renewals_AreMergedAndResultsKept) {
  OutboundQueue queue;
  v1::CoordinatorMessage renewal;
  for (const uint64_t sequence : {1, 2, 3}) {
    renewal.mutable_lease_renewal()->set_sequence(sequence);
    queue.Push(renewal);
    v1::CoordinatorMessage ack;
    ack.mutable_result_ack()->set_case_index(static_cast<int>(sequence));
    queue.Push(ack);
  }
  EXPECT_EQ(queue.size(), 4u);
  EXPECT_EQ(queue.Pop()->result_ack().case_index(), 1);
  EXPECT_EQ(queue.Pop()->result_ack().case_index(), 2);
  EXPECT_EQ(queue.Pop()->lease_renewal().sequence(), 3u);
  EXPECT_EQ(queue.Pop()->result_ack().case_index(), 3);
  EXPECT_FALSE(queue.Pop().has_value());
}

TEST(AddressOfPeer, TakesIpAddressesOnly) {
  EXPECT_EQ(AddressOfPeer("ipv4:10.0.0.7:40312"), "10.0.0.7");
  EXPECT_EQ(AddressOfPeer("ipv6:%5Bfd00::7%5D:40312"), "fd00::7");
  EXPECT_EQ(AddressOfPeer("ipv6:[::1]:40312"), "::1");
  for (const char* other : {"", "unix:/run/x", "ipv6:", "unknown"}) {
    EXPECT_EQ(AddressOfPeer(other), "") << other;
  }
}

TEST_F(ServerTest, TheLargestNodesCanAllBeListed) {
  constexpr int kNodes = 100;
  for (int i = 0; i < kNodes; ++i) {
    v1::NodeDescription node = MakeFleetNode("n" + std::to_string(i), '1', 0).description();
    node.set_node_id(NewUuid());
    while (node.ByteSizeLong() < (250 << 10))
      node.add_health()->set_message(std::string(4096, 'x'));
    v1::Hello hello;
    *hello.mutable_node() = node;
    hello.set_protocol_revision(1);
    ASSERT_TRUE(CheckHello(hello).ok()) << CheckHello(hello);
    ASSERT_TRUE(nodes_.Connect("c", node, "", std::chrono::minutes(1)).ok());
  }
  Serve();
  const auto stub = v1::NodeService::NewStub(channel_);
  int listed = 0;
  v1::ListNodesRequest request;
  request.set_view(v1::NODE_VIEW_FULL);
  do {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::ListNodesResponse page;
    const grpc::Status status = stub->ListNodes(&context, request, &page);
    ASSERT_TRUE(status.ok()) << status.error_message();
    listed += page.nodes_size();
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(listed, kNodes);
}

}  // namespace
}  // namespace assay::coordinator::rpc
