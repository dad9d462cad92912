#include "coordinator/core/absence.h"

#include <gtest/gtest.h>

#include <chrono>

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
  absence.NotePolled(std::chrono::seconds(1));
  EXPECT_FALSE(absence.Excuses(clock.Now()));
  EXPECT_FALSE(absence.SilenceCounts());
}

}  // namespace
}  // namespace assay::coordinator
