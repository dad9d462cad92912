// Tests the streams for viewers, WatchFleet and WatchCampaign, with real gRPC on loopback and fake
// stores. The periods are short, and no test depends on how short.
#include "coordinator/rpc/fleet_watch.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <set>

#include "assay/v1/campaign_service.grpc.pb.h"
#include "assay/v1/node_service.grpc.pb.h"
#include "coordinator/rpc/server.h"
#include "storage/fakes/fake_stores.h"
#include "tests/unit/campaign/fleet_records.h"
#include "wire/status_conversion.h"

namespace assay::coordinator::rpc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class FleetWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    coordinator_->Start();
    ServerOptions options;
    options.listen = {"127.0.0.1", 0};
    auto server = Server::Start(*coordinator_, std::move(options));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ =
        grpc::CreateChannel(server_->address().ToString(), grpc::InsecureChannelCredentials());
  }

  void TearDown() override {
    if (server_) server_->Shutdown(2s);
    executor_ = nullptr;
  }

  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + 20s);
  }

  Options ShortPeriods() {
    Options options{"c"};
    options.fleet_period = 20ms;
    options.repeat_period = 60ms;
    return options;
  }

  void Add(const v1::Node& node) {
    ASSERT_TRUE(nodes_.Connect("c", node.description(), "", 1min).ok());
  }

  using Changes = grpc::ClientReaderInterface<v1::WatchFleetResponse>;
  // `context` must outlive the returned reader.
  std::unique_ptr<Changes> Watch(grpc::ClientContext& context, const std::string& filter) {
    SetDeadline(context);
    v1::WatchFleetRequest request;
    request.set_filter(filter);
    return v1::NodeService::NewStub(channel_)->WatchFleet(&context, request);
  }

  Status GetFleet(const std::string& filter, v1::GetFleetResponse& response) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::GetFleetRequest request;
    request.set_filter(filter);
    return assay::rpc::FromGrpc(
        v1::NodeService::NewStub(channel_)->GetFleet(&context, request, &response));
  }

  Clock& clock_ = Clock::Real();
  storage::FakeDatabase database_{clock_};
  storage::FakeJobStore jobs_{database_};
  storage::FakeNodeStore nodes_{database_};
  storage::FakeResultStore results_{database_};
  storage::FakeFleetStore fleet_{database_};
  storage::FakeWorkStore work_{database_};
  storage::FakeAnalysisStore analysis_{database_};
  storage::FakeScheduleStore schedules_{database_};
  Observer observer_;
  std::unique_ptr<Executor> executor_ = NewThreadPool(2, "test");
  std::unique_ptr<Coordinator> coordinator_ =
      std::make_unique<Coordinator>(Environment{clock_, *executor_, jobs_, results_, nodes_, fleet_,
                                                work_, analysis_, schedules_, observer_},
                                    ShortPeriods());
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(FleetWatchTest, GetFleet_HasMatchingNodesAndCountsAll) {
  Add(MakeFleetNode("a", '1', 2));
  Add(MakeFleetNode("b", '2', 0));
  v1::GetFleetResponse fleet;
  ASSERT_TRUE(GetFleet("gpu.count > 0", fleet).ok());
  ASSERT_THAT(fleet.nodes(), SizeIs(1));
  EXPECT_EQ(fleet.nodes(0).name(), "a");
  EXPECT_EQ(fleet.summary().node_count(), 2);
  EXPECT_EQ(GetFleet("colour = red", fleet).reason(), Reason::kUnknownField);
}

TEST_F(FleetWatchTest, Watch_SendsAllNodesThenChangesThenRemovals) {
  const v1::Node a = MakeFleetNode("a", '1', 2);
  const v1::Node b = MakeFleetNode("b", '2', 2);
  Add(a);
  Add(b);
  grpc::ClientContext context;
  const auto changes = Watch(context, "");
  v1::WatchFleetResponse change;
  ASSERT_TRUE(changes->Read(&change));
  EXPECT_THAT(change.nodes(), SizeIs(2));
  EXPECT_EQ(change.summary().lost_node_count(), 0);

  ASSERT_TRUE(nodes_.Disconnect("c", b.description().node_id()).ok());
  do {  // Messages without news come between.
    ASSERT_TRUE(changes->Read(&change));
  } while (change.nodes().empty());
  ASSERT_THAT(change.nodes(), SizeIs(1));
  EXPECT_EQ(change.nodes(0).name(), "b");
  EXPECT_EQ(change.nodes(0).state(), v1::NODE_STATE_DISCONNECTED);
  EXPECT_EQ(change.summary().lost_node_count(), 1);

  ASSERT_TRUE(nodes_.RemoveNode("b").ok());
  do {
    ASSERT_TRUE(changes->Read(&change));
  } while (change.removed_node_ids().empty());
  EXPECT_THAT(change.removed_node_ids(), ElementsAre(b.description().node_id()));
  EXPECT_EQ(change.summary().node_count(), 1);
  context.TryCancel();
}

TEST_F(FleetWatchTest, Watch_WithoutNewsRepeatsTheSummary) {
  grpc::ClientContext context;
  const auto changes = Watch(context, "");
  v1::WatchFleetResponse change;
  ASSERT_TRUE(changes->Read(&change));  // An empty fleet is an answer.
  ASSERT_TRUE(changes->Read(&change));
  EXPECT_THAT(change.nodes(), IsEmpty());
  EXPECT_TRUE(change.summary().has_time());
  context.TryCancel();
}

TEST_F(FleetWatchTest, Watch_SplitsAFleetThatExceedsAMessage) {
  constexpr size_t kNodes = 60;
  for (size_t i = 0; i < kNodes; ++i) {
    v1::Node node = MakeFleetNode("n" + std::to_string(i), '1', 0);
    node.mutable_description()->set_node_id("node" + std::to_string(i));
    node.mutable_description()->mutable_inventory()->mutable_cpu()->set_model(
        std::string(100'000, 'x'));
    Add(node);
  }
  grpc::ClientContext context;
  const auto changes = Watch(context, "");
  std::set<std::string> received;
  v1::WatchFleetResponse change;
  while (received.size() < kNodes) {
    ASSERT_TRUE(changes->Read(&change));
    EXPECT_EQ(change.summary().node_count(), static_cast<int>(kNodes));
    for (const v1::FleetNode& node : change.nodes()) received.insert(node.name());
  }
  context.TryCancel();
}

TEST_F(FleetWatchTest, Watch_RefusesABadFilter) {
  grpc::ClientContext context;
  const auto changes = Watch(context, "colour = red");
  v1::WatchFleetResponse change;
  EXPECT_FALSE(changes->Read(&change));
  EXPECT_EQ(assay::rpc::FromGrpc(changes->Finish()).reason(), Reason::kUnknownField);
}

TEST_F(FleetWatchTest, Watches_OfOnePeerAreLimited) {
  constexpr int kMost = 64;
  std::vector<grpc::ClientContext> contexts(kMost + 1);
  std::vector<std::unique_ptr<Changes>> watches;
  v1::WatchFleetResponse change;
  for (int i = 0; i < kMost; ++i) {
    watches.push_back(Watch(contexts[static_cast<size_t>(i)], ""));
    ASSERT_TRUE(watches.back()->Read(&change));
  }
  const auto refused = Watch(contexts.back(), "");
  EXPECT_FALSE(refused->Read(&change));
  EXPECT_EQ(assay::rpc::FromGrpc(refused->Finish()).reason(), Reason::kOverloaded);
  for (grpc::ClientContext& context : contexts) context.TryCancel();
}

class CampaignWatchTest : public FleetWatchTest {
 protected:
  void SetUp() override {
    FleetWatchTest::SetUp();
    campaign_.campaign_id = campaign_.request_id = "11111111-2222-4333-8444-555555555555";
    campaign_.jobs.emplace_back().job_id = "job";
    campaign_.jobs[0].candidate_node_ids = {"gone"};
    ASSERT_TRUE(jobs_.CreateCampaign(campaign_).ok());
  }

  std::unique_ptr<grpc::ClientReaderInterface<v1::WatchCampaignResponse>> WatchCampaign(
      grpc::ClientContext& context, bool without_jobs) {
    SetDeadline(context);
    v1::WatchCampaignRequest request;
    request.set_campaign(campaign_.campaign_id);
    request.set_without_jobs(without_jobs);
    return v1::CampaignService::NewStub(channel_)->WatchCampaign(&context, request);
  }

  storage::NewCampaign campaign_;
};

TEST_F(CampaignWatchTest, WithoutJobs_SendsTheCampaignUntilItsVerdict) {
  grpc::ClientContext context;
  const auto changes = WatchCampaign(context, true);
  v1::WatchCampaignResponse change;
  ASSERT_TRUE(changes->Read(&change));
  EXPECT_EQ(change.campaign().state(), v1::CAMPAIGN_STATE_ACTIVE);
  EXPECT_THAT(change.jobs(), IsEmpty());
  ASSERT_TRUE(coordinator_->CancelCampaign(campaign_.campaign_id).ok());
  while (changes->Read(&change)) EXPECT_THAT(change.jobs(), IsEmpty());
  EXPECT_TRUE(changes->Finish().ok());
  EXPECT_NE(change.campaign().verdict(), v1::VERDICT_UNSPECIFIED);
}

TEST_F(CampaignWatchTest, UnchangedCampaignIsRepeated) {
  grpc::ClientContext context;
  const auto changes = WatchCampaign(context, false);
  v1::WatchCampaignResponse change;
  ASSERT_TRUE(changes->Read(&change));
  EXPECT_THAT(change.jobs(), SizeIs(1));
  // The estimate may cause one more message, but not two.
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(changes->Read(&change));
    EXPECT_THAT(change.jobs(), IsEmpty());
    EXPECT_EQ(change.campaign().state(), v1::CAMPAIGN_STATE_ACTIVE);
  }
  context.TryCancel();
}

}  // namespace
}  // namespace assay::coordinator::rpc
