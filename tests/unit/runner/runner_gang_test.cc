// Tests ranks of a gang in the agent's protocol.
#include <gtest/gtest.h>
#include <signal.h>

#include "runner/exit_codes.h"
#include "tests/unit/runner/served_rank.h"

namespace assay {
namespace {

// Starts the two ranks of a gang, and lets them meet.
void Begin(Rank& first, Rank& second, v1::RunnerCommand start) {
  start.mutable_start()->set_world_size(2);
  first.Send(start);
  start.mutable_start()->set_rank(1);
  second.Send(start);
  const v1::RunnerEvent ready = first.Next();
  EXPECT_TRUE(second.Next().has_ready());
  v1::RunnerCommand rendezvous;
  rendezvous.mutable_rendezvous()->set_token(ready.ready().rendezvous_token());
  first.Send(rendezvous);
  second.Send(rendezvous);
}

TEST(RunnerGang, GangMeetsThroughTheToken) {
  Rank first("serve");
  Rank second("serve");
  const v1::RunnerCommand start = Start(
      "tcp_all_reduce", {{{"ranks", "2"}, {"bytes", "4096"}}, {{"ranks", "3"}, {"bytes", "4096"}}});
  Begin(first, second, start);
  const v1::CaseResult result = first.Next().case_result();
  EXPECT_EQ(result.outcome(), v1::CASE_OUTCOME_OK) << result.failure().message();
  EXPECT_EQ(result.verification().elements_checked(), 2048);
  EXPECT_EQ(result.environment().topology(), "");  // The agent decides it.
  EXPECT_EQ(first.Next().case_result().failure().failure_class(), v1::FAILURE_CLASS_USER);
  EXPECT_TRUE(first.Next().has_finished());
  EXPECT_TRUE(second.Next().has_finished());  // And no results.
  EXPECT_EQ(first.Wait().code, kExitDone);
  EXPECT_EQ(second.Wait().code, kExitDone);
}

TEST(RunnerGang, RankZeroReportsWhenAllHaveMet) {
  Rank first("serve");
  Rank second("serve");
  Begin(first, second, Start("tcp_all_reduce", {{{"ranks", "2"}, {"bytes", "4096"}}}));
  const v1::RunnerCaseStarted met = first.NextOfAnyKind().case_started();
  EXPECT_EQ(met.case_index(), 10);
  EXPECT_EQ(met.phase(), "compare");
  EXPECT_EQ(first.NextOfAnyKind().case_started().phase(), "verify");
  // A rank may connect long before another.
  EXPECT_EQ(second.NextOfAnyKind().case_started().phase(), "verify");
}

TEST(RunnerGang, LostRankEndsTheJobWithoutFinished) {
  Rank first("serve");
  Rank second("serve");
  Begin(first, second, Start("tcp_all_reduce", {{{"ranks", "2"}, {"bytes", "64000000"}}}));
  EXPECT_TRUE(second.NextOfAnyKind().has_case_started());  // The gang has met.
  second.Signal(SIGKILL);
  const v1::RunnerEvent last = first.Next();
  EXPECT_EQ(last.aborted().failure().failure_class(), v1::FAILURE_CLASS_INFRASTRUCTURE);
  EXPECT_EQ(last.aborted().failure().reason(), v1::REASON_PEER_LOST);
  EXPECT_EQ(last.aborted().failure().rank(), 0);
  EXPECT_EQ(last.aborted().failure().peer_loss().lost_rank(), 1);
  EXPECT_EQ(first.Wait().code, kExitGangLost);
}

TEST(RunnerGang, RankZeroEndsWithItsAgentBeforeTheStart) {
  Rank first("serve");
  v1::RunnerCommand start = Start("tcp_all_reduce", {{{"ranks", "3"}, {"bytes", "4096"}}});
  start.mutable_start()->set_world_size(3);
  first.Send(start);
  EXPECT_TRUE(first.Next().has_ready());
  first.CloseCommands();
  EXPECT_EQ(first.Wait().code, kExitStopped);
}

}  // namespace
}  // namespace assay
