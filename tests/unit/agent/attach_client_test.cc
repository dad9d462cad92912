// The order in which an agent tries its coordinators, and its delays.
#include "agent/rpc/attach_client.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/temporary_folder.h"
#include "tests/unit/agent/scripted_coordinator.h"
#include "tests/unit/agent/session_fixture.h"

namespace assay::agent {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

// No program listens there.
constexpr char kAway[] = "127.0.0.1:1";
constexpr char kAlsoAway[] = "127.0.0.1:2";

// The client's executor. Records the delays before its tries, and does not wait for them.
class ImpatientExecutor : public Executor {
 public:
  explicit ImpatientExecutor(Executor* executor) : executor_(executor) {}

  void Post(Task task) override { executor_->Post(std::move(task)); }
  void PostAfter(Duration delay, Task task) override {
    // The client cancels a call a second after its end, which is not a try.
    if (delay == 1s) return executor_->PostAfter(delay, std::move(task));
    delays.push_back(delay);
    executor_->Post(std::move(task));
  }

  std::vector<Duration> delays;  // Used on the executor.

 private:
  Executor* const executor_;
};

class AttachClientTest : public ::testing::Test {
 protected:
  AttachClientTest() {
    On([&] {
      v1::NodeDescription node;
      node.set_node_id("node-1");
      session_ = std::make_shared<Session>(
          Session::Options{&Clock::Real(), executor_.get(), &launcher_, spool_.get(), &occupancy_,
                           std::make_shared<Node>(std::move(node)), nullptr});
    });
  }

  ~AttachClientTest() override {
    On([&] {
      client_->Stop();
      session_->HandBack("end of the test", [] {});
    });
    client_->AwaitEnd();
    On([&] {
      client_.reset();
      session_.reset();
    });
  }

  void On(const std::function<void()>& task) {
    std::promise<void> done;
    executor_->Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  void Attach(std::vector<std::string> coordinators) {
    On([&] {
      client_ = std::make_unique<AttachClient>(
          std::move(coordinators),
          [this](const std::string& address) -> Result<std::shared_ptr<grpc::Channel>> {
            tries_.push_back(address);
            return grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
          },
          "", session_, &impatient_, /*seed=*/1);
      client_->Start();
    });
  }

  std::vector<Duration> Delays() {
    std::vector<Duration> delays;
    On([&] { delays = impatient_.delays; });
    return delays;
  }

  TemporaryFolder folder_;
  std::unique_ptr<Spool> spool_ = std::move(*Spool::Open(folder_.path() + "/spool", 1 << 20));
  FakeLauncher launcher_;
  Occupancy occupancy_;
  std::unique_ptr<Executor> executor_ = NewThreadPool(1, "test");
  ImpatientExecutor impatient_{executor_.get()};
  std::shared_ptr<Session> session_;
  std::unique_ptr<AttachClient> client_;
  std::vector<std::string> tries_;  // The addresses in the order of their first try.
};

MATCHER(IsBackoff, "a delay of the backoff") { return arg >= Duration(200ms); }

const auto kAtOnce = Duration::zero();

TEST_F(AttachClientTest, TriesTheNextOfTheListAtOnce) {
  ScriptedCoordinator coordinator;
  Attach({kAway, kAlsoAway, coordinator.address()});
  coordinator.Await(v1::AgentMessage::kState);
  EXPECT_THAT(Delays(), ElementsAre(kAtOnce, kAtOnce));
  EXPECT_THAT(tries_, ElementsAre(kAway, kAlsoAway, coordinator.address()));
}

TEST_F(AttachClientTest, WaitsAfterTheWholeListHasFailed) {
  ScriptedCoordinator coordinator(
      {{{}, grpc::Status(grpc::StatusCode::UNAVAILABLE, "the database is away")}, {}});
  Attach({coordinator.address(), kAway});
  coordinator.Await(v1::AgentMessage::kState);
  EXPECT_THAT(Delays(), ElementsAre(kAtOnce, IsBackoff()));
}

TEST_F(AttachClientTest, BeginsWithTheCoordinatorOfTheLastSession) {
  ScriptedCoordinator coordinator({{{HelloAck()}, grpc::Status::OK}, {}});
  Attach({kAway, coordinator.address()});
  coordinator.Await(v1::AgentMessage::kState);
  EXPECT_THAT(Delays(), ElementsAre(kAtOnce, IsBackoff()));
}

TEST_F(AttachClientTest, NamedCoordinatorIsTriedOnceARound) {
  ScriptedCoordinator second({{{}, grpc::Status(grpc::StatusCode::UNAVAILABLE, "")}, {}});
  ScriptedCoordinator first({SendAwayTo(second.address())});
  Attach({first.address(), second.address()});
  second.Await(v1::AgentMessage::kState);
  // First, second, then a new round: first, second.
  EXPECT_THAT(Delays(), ElementsAre(kAtOnce, IsBackoff(), kAtOnce));
}

TEST_F(AttachClientTest, NamedCoordinatorOutsideTheListIsTriedFirst) {
  ScriptedCoordinator leader;
  ScriptedCoordinator other({SendAwayTo(leader.address())});
  Attach({other.address(), kAway});
  leader.Await(v1::AgentMessage::kState);
  EXPECT_THAT(tries_, ElementsAre(other.address(), leader.address()));
  EXPECT_THAT(Delays(), ElementsAre(kAtOnce));
}

class ReplacedSessionTest : public AttachClientTest,
                            public ::testing::WithParamInterface<grpc::StatusCode> {};

TEST_P(ReplacedSessionTest, WaitsBeforeAnyOtherTry) {
  ScriptedCoordinator coordinator(
      {{{}, grpc::Status(GetParam(), "another agent has this id")}, {}});
  Attach({coordinator.address(), kAway});
  coordinator.Await(v1::AgentMessage::kState);
  EXPECT_THAT(Delays(), ElementsAre(IsBackoff()));
  EXPECT_THAT(tries_, ElementsAre(coordinator.address()));
}

INSTANTIATE_TEST_SUITE_P(, ReplacedSessionTest,
                         ::testing::Values(grpc::StatusCode::ABORTED,
                                           grpc::StatusCode::ALREADY_EXISTS));

}  // namespace
}  // namespace assay::agent
