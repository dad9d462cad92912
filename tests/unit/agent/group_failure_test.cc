#include "agent/core/group_failure.h"

#include <gtest/gtest.h>

namespace assay::agent {
namespace {

using namespace std::chrono_literals;

v1::Failure Saying(const std::string& message) {
  v1::Failure failure;
  failure.set_message(message);
  return failure;
}

TEST(GroupFailureTest, TheMostTellingCountsWhicheverCameFirst) {
  GroupFailure failure(true, true);
  EXPECT_FALSE(failure.Get());
  failure.AddToMessage("; to nothing");
  failure.Offer(Telling::kLatePeer, Saying("late"));
  failure.Offer(Telling::kLostPeer, Saying("lost"));
  failure.Offer(Telling::kLatePeer, Saying("later"));
  EXPECT_EQ(failure.Get()->message(), "late");
  failure.Offer(Telling::kSignal, Saying("killed"));
  failure.AddToMessage(", by the kernel");
  EXPECT_EQ(failure.Get()->message(), "killed, by the kernel");
}

TEST(GroupFailureTest, OthersGetLongerToTellMoreTheLessIsKnown) {
  const MonotonicTime now = Clock::Real().Now();
  const auto wait = [&](bool spread, bool third, Telling telling) {
    GroupFailure failure(spread, third);
    EXPECT_FALSE(failure.EndOfWait());
    failure.Suspect(telling, Saying(""), now);
    EXPECT_EQ(failure.AwaitsCause(), spread && telling <= Telling::kUnreached);
    return *failure.EndOfWait() - now;
  };
  EXPECT_EQ(wait(false, false, Telling::kLostPeer), 1s);
  EXPECT_EQ(wait(true, true, Telling::kLatePeer), 1s);
  EXPECT_EQ(wait(true, true, Telling::kLostPeer), 4s);
  EXPECT_EQ(wait(true, false, Telling::kUnreached), 4s);
  EXPECT_EQ(wait(true, true, Telling::kUnreached), 5s);
}

TEST(GroupFailureTest, WhoTellsMoreShortensTheWaitAndNobodyProlongsIt) {
  const MonotonicTime now = Clock::Real().Now();
  GroupFailure failure(true, false);
  failure.Suspect(Telling::kLostPeer, Saying("lost"), now);
  failure.Suspect(Telling::kLostPeer, Saying("lost too"), now + 2s);
  EXPECT_EQ(failure.EndOfWait(), now + 4s);
  failure.Suspect(Telling::kExit, Saying("gone"), now + 2s);
  EXPECT_EQ(failure.EndOfWait(), now + 3s);
}

}  // namespace
}  // namespace assay::agent
