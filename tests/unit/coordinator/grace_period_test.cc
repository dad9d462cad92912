#include "coordinator/core/attempts/grace_period.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/virtual_clock.h"

namespace assay::coordinator {
namespace {

constexpr Duration kLease = std::chrono::seconds(30);
constexpr Duration kPoll = std::chrono::seconds(3);

class GracePeriodTest : public ::testing::Test {
 protected:
  void Poll(bool database_away = false, Duration takes = Duration(0)) {
    grace.BeginPoll();
    clock.Advance(takes);
    grace.EndPoll(kPoll, database_away);
    clock.Advance(kPoll);
  }
  void PollFor(Duration time) {
    for (Duration passed(0); passed < time; passed += kPoll) Poll();
  }

  VirtualClock clock;
  GracePeriod grace{clock, kLease};
};

TEST_F(GracePeriodTest, StartGivesOneLease) {
  PollFor(kLease - kPoll);
  EXPECT_TRUE(grace.Active());
  PollFor(kPoll);
  EXPECT_FALSE(grace.Active());
}

TEST_F(GracePeriodTest, OutageOfTheDatabaseGivesALeaseAndTheTimeToReconnect) {
  PollFor(kLease);
  Poll(/*database_away=*/true);
  PollFor(kLease + std::chrono::seconds(54));
  EXPECT_TRUE(grace.Active());
  PollFor(2 * kPoll);
  EXPECT_FALSE(grace.Active());
}

TEST_F(GracePeriodTest, SlowPollCountsAsAnOutage) {
  PollFor(kLease);
  Poll(/*database_away=*/false, std::chrono::minutes(2));
  EXPECT_TRUE(grace.Active());
}

TEST_F(GracePeriodTest, LatePollShowsASuspension) {
  PollFor(kLease);
  clock.Advance(std::chrono::minutes(5));
  EXPECT_TRUE(grace.Active()) << "before the poll has begun";
  Poll();
  EXPECT_TRUE(grace.Active());
  PollFor(kLease + std::chrono::minutes(1));
  EXPECT_FALSE(grace.Active());
}

}  // namespace
}  // namespace assay::coordinator
