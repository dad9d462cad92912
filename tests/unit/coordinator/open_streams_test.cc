#include "coordinator/rpc/open_streams.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "tests/unit/coordinator/manual_executor.h"

namespace assay::coordinator::rpc {
namespace {

class OpenStreamsTest : public ::testing::Test {
 protected:
  Identity Node(const std::string& id, Duration lifetime = std::chrono::hours(1)) {
    return {Role::kNode, "lab", id, id, "01", "aa", clock.WallNow() + lifetime};
  }
  // Opens a stream, whose end is stored in `end`.
  OpenStreams::Place Open(const Identity& caller, std::optional<Status>& end) {
    return streams->Add(caller, [&end](const Status& status) {
      EXPECT_FALSE(end) << "ended twice";
      end = status;
    });
  }

  VirtualClock clock;
  ManualExecutor executor{clock};
  std::set<std::string> banned;
  Code refusal = Code::kPermissionDenied;
  std::shared_ptr<OpenStreams> streams =
      std::make_shared<OpenStreams>(clock, executor, [this](const Identity& caller) {
        return banned.count(caller.id) == 0 ? Status::Ok()
                                            : Status(refusal, Reason::kBanned, "banned");
      });
};

TEST_F(OpenStreamsTest, ExpiredCertificate_EndsItsStreamWithinASecond) {
  streams->Follow();
  std::optional<Status> soon;
  std::optional<Status> later;
  const auto first = Open(Node("a", std::chrono::seconds(10)), soon);
  const auto second = Open(Node("b"), later);
  executor.Advance(std::chrono::seconds(9));
  EXPECT_FALSE(soon);
  executor.Advance(std::chrono::seconds(2));
  ASSERT_TRUE(soon);
  EXPECT_EQ(soon->code(), Code::kFailedPrecondition);
  EXPECT_EQ(soon->reason(), Reason::kBadCertificate);
  EXPECT_FALSE(later);
}

TEST_F(OpenStreamsTest, Ban_EndsTheStreamsOfTheBanned) {
  std::optional<Status> good;
  std::optional<Status> bad;
  const auto first = Open(Node("good"), good);
  const auto second = Open(Node("bad"), bad);
  banned.insert("bad");
  streams->Recheck();
  streams->Recheck();
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->reason(), Reason::kBanned);
  EXPECT_FALSE(good);
}

TEST_F(OpenStreamsTest, BanBeforeTheRegistration_EndsTheStream) {
  banned.insert("bad");
  std::optional<Status> end;
  const auto place = Open(Node("bad"), end);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->reason(), Reason::kBanned);
}

TEST_F(OpenStreamsTest, UnknownState_EndsNoStream) {
  std::optional<Status> end;
  const auto place = Open(Node("a"), end);
  banned.insert("a");
  refusal = Code::kUnavailable;
  streams->Recheck();
  EXPECT_FALSE(end);
}

TEST_F(OpenStreamsTest, ClosedStreamsAreForgotten) {
  std::optional<Status> end;
  auto place = Open(Node("a"), end);
  place = nullptr;
  banned.insert("a");
  streams->Recheck();
  EXPECT_FALSE(end);
  // A place may outlive the object.
  place = Open(Node("b"), end);
  streams = nullptr;
  place = nullptr;
}

}  // namespace
}  // namespace assay::coordinator::rpc
