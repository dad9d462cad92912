// Agents whose clock differs from the coordinator's.
#include "coordinator/core/sessions/clock_offset.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/unit/coordinator/fleet_fixture.h"
#include "tests/wording.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ClockOffsetTest : public FleetOfTwo {
 protected:
  // Queues the Hello of node a, whose clock is `ahead` of the coordinator's.
  std::shared_ptr<FakeAgent> SendHello(Duration ahead) {
    const auto agent = Connect(a_);
    v1::AgentMessage message;
    *message.mutable_hello()->mutable_node() = a_.description();
    message.mutable_hello()->set_protocol_revision(1);
    *message.mutable_hello()->mutable_time() = schema::ToTimestamp(clock.WallNow() + ahead);
    agent->session->OnMessage(std::move(message));
    return agent;
  }
  std::shared_ptr<FakeAgent> AttachAhead(Duration ahead) {
    auto agent = SendHello(ahead);
    executor->RunReady();
    return agent;
  }
  auto Health() { return coordinator->GetNode("a")->description().health(); }
  std::optional<double> Offset() {
    return coordinator->sessions().List(1min).at(0).clock_offset_seconds;
  }
};

TEST_F(ClockOffsetTest, AgentThatIsAnHourOff_HasAnError) {
  AttachAhead(1h + 2min);
  EXPECT_DOUBLE_EQ(Offset().value(), 3720);
  ASSERT_THAT(Health(), SizeIs(1));
  EXPECT_EQ(Health()[0].check(), "clock");
  EXPECT_EQ(Health()[0].severity(), v1::HealthFinding::SEVERITY_ERROR);
  EXPECT_WORDING("coordinator/clock-ahead", Health()[0].message());
  AttachAhead(-61s);
  EXPECT_DOUBLE_EQ(Offset().value(), -61);
  ASSERT_THAT(Health(), SizeIs(1));
  EXPECT_EQ(Health()[0].severity(), v1::HealthFinding::SEVERITY_WARNING);
  EXPECT_WORDING("coordinator/clock-behind", Health()[0].message());
  AttachAhead(60s);
  EXPECT_THAT(Health(), IsEmpty());
}

TEST_F(ClockOffsetTest, NodeWithAnErrorGetsJobs) {
  const auto agent = AttachAhead(-2h);
  Submit(MakeSpec("cpu_gemm"));
  EXPECT_EQ(agent->Count(Kind::kAssign), 1);
}

TEST_F(ClockOffsetTest, OldAgent_HasNoOffset) {
  Attach(a_);
  EXPECT_EQ(Offset(), std::nullopt);
  EXPECT_THAT(Health(), IsEmpty());
}

// The database may be away while a Hello waits.
TEST_F(ClockOffsetTest, TimeInTheInboxDoesNotCount) {
  SendHello(5s);
  clock.Advance(20min);
  executor->RunReady();
  EXPECT_DOUBLE_EQ(Offset().value(), 5);
  EXPECT_THAT(Health(), IsEmpty());
}

TEST_F(ClockOffsetTest, FindingOutlivesACheckOfTheNode) {
  const auto agent = AttachAhead(1h);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_repetitions(40);
  Submit(spec);
  for (int failed = 0; agent->Count(Kind::kAssign) > failed; ++failed) {
    SayFinished(agent, AssignedTo(agent), v1::REASON_RUNNER_CRASHED);
  }
  executor->Advance(4s);
  ASSERT_EQ(agent->Count(Kind::kCheckNode), 1);
  v1::AgentMessage message;
  message.mutable_node_checked()->add_health()->set_check("disk_free");
  Say(agent, std::move(message));
  ASSERT_THAT(Health(), SizeIs(2));
  EXPECT_EQ(Health()[0].check(), "disk_free");
  EXPECT_EQ(Health()[1].check(), "clock");
}

TEST(ClockOffset, InvalidTimesCountAsNone) {
  const auto offset = [](int64_t seconds, int nanos) {
    v1::Hello hello;
    hello.mutable_time()->set_seconds(seconds);
    hello.mutable_time()->set_nanos(nanos);
    return ClockOffset(hello, WallTime(1s));
  };
  EXPECT_EQ(offset(-1, 0), std::nullopt);
  EXPECT_EQ(offset(std::numeric_limits<int64_t>::max(), 0), std::nullopt);
  EXPECT_EQ(offset(1, -1), std::nullopt);
  EXPECT_EQ(offset(1, 1'000'000'000), std::nullopt);
  EXPECT_DOUBLE_EQ(offset(3, 500'000'000).value(), 2.5);
  // The year 9999 is printed as the most that is shown.
  v1::NodeDescription node;
  AddClockFinding(offset(253'402'300'799, 0), node);
  EXPECT_THAT(node.health(), SizeIs(1));
}

}  // namespace
}  // namespace assay::coordinator
