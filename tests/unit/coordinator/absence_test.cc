#include "coordinator/core/attempts/absence.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/virtual_clock.h"

namespace assay::coordinator {
namespace {

// As a real one, it never tells the same time twice.
class TickingClock : public Clock {
 public:
  MonotonicTime Now() const override { return now_ += std::chrono::nanoseconds(1); }
  WallTime WallNow() const override { return {}; }

 private:
  mutable MonotonicTime now_{std::chrono::hours(1)};
};

TEST(Absence, AStartIsNoStandstill) {
  const TickingClock clock;
  Absence absence(clock, std::chrono::seconds(5));
  absence.NotePoll();
  absence.NotePolled(std::chrono::seconds(1), /*away=*/false);
  EXPECT_FALSE(absence.Excuses(clock.Now()));
  EXPECT_FALSE(absence.SilenceCounts());
}

constexpr Duration kLease = std::chrono::seconds(30);
constexpr Duration kPoll = std::chrono::seconds(3);

// After a start that is long ago.
class AbsenceSpansTest : public ::testing::Test {
 protected:
  AbsenceSpansTest() {
    for (int poll = 0; poll < 20; ++poll) Poll(false);
  }
  // One that the database answers after `answers`, unless it is away; the rest of it, and the wait
  // for the next.
  void Poll(bool away, Duration answers = Duration(0), Duration rest = Duration(0)) {
    absence.NotePoll();
    clock.Advance(answers);
    if (!away) absence.NoteAnswered();
    clock.Advance(rest);
    absence.NotePolled(kPoll, away);
    clock.Advance(kPoll);
  }

  VirtualClock clock;
  Absence absence{clock, kLease};
};

TEST_F(AbsenceSpansTest, AnOutageExcusesWhoeverWasHeardUntilIt) {
  ASSERT_TRUE(absence.SilenceCounts());
  const MonotonicTime before = clock.Now() - kPoll;
  for (int poll = 0; poll < 40; ++poll) Poll(/*away=*/true);
  EXPECT_FALSE(absence.SilenceCounts());
  for (int poll = 0; poll < 20; ++poll) Poll(false);
  EXPECT_TRUE(absence.SilenceCounts());
  EXPECT_TRUE(absence.Excuses(before));
  EXPECT_FALSE(absence.Excuses(before - kLease)) << "it was gone before";
  EXPECT_FALSE(absence.Excuses(clock.Now())) << "it was heard long after";
}

TEST_F(AbsenceSpansTest, AShortOutageCostsNoAgentItsLease) {
  const MonotonicTime before = clock.Now();
  for (int poll = 0; poll < 4; ++poll) Poll(/*away=*/true);
  EXPECT_FALSE(absence.SilenceCounts());
  EXPECT_FALSE(absence.Excuses(before));
}

TEST_F(AbsenceSpansTest, ABlipAfterAnOutageTakesNoExcuseAway) {
  const MonotonicTime before = clock.Now();
  for (int poll = 0; poll < 10; ++poll) Poll(/*away=*/true);
  Poll(false);
  Poll(/*away=*/true);
  EXPECT_TRUE(absence.Excuses(before));
  // Long after, it is an outage of its own.
  for (int poll = 0; poll < 20; ++poll) Poll(false);
  const MonotonicTime later = clock.Now();
  Poll(/*away=*/true);
  EXPECT_FALSE(absence.Excuses(later));
}

TEST_F(AbsenceSpansTest, APollThatTakesLongBehindTheAnswerIsNoOutage) {
  Poll(/*away=*/false, Duration(0), std::chrono::minutes(2));
  EXPECT_TRUE(absence.SilenceCounts());
  EXPECT_FALSE(absence.Recent());
}

TEST_F(AbsenceSpansTest, ADatabaseThatAnswersLateWasAway) {
  const MonotonicTime before = clock.Now();
  Poll(/*away=*/false, std::chrono::minutes(2));
  EXPECT_FALSE(absence.SilenceCounts());
  EXPECT_TRUE(absence.Recent());
  EXPECT_TRUE(absence.Excuses(before));
}

}  // namespace
}  // namespace assay::coordinator
