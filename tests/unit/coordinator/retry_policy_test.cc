// Tests the retry policy.
#include "coordinator/core/attempts/retry_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay::coordinator {
namespace {

using storage::Disposition;
using ::testing::ElementsAre;

storage::LeasedJob Job(std::vector<std::string> candidates) {
  storage::LeasedJob job;
  job.job.candidate_node_ids = std::move(candidates);
  job.node_ids = {job.job.candidate_node_ids.front()};
  job.retries = 3;
  return job;
}

v1::Failure Failed(v1::FailureClass failure_class, v1::Reason reason = v1::REASON_INTERNAL) {
  v1::Failure failure;
  failure.set_failure_class(failure_class);
  failure.set_reason(reason);
  return failure;
}

TEST(RetryPolicyTest, NodeFailureAvoidsTheNodeThatItNames) {
  v1::Failure failure = Failed(v1::FAILURE_CLASS_NODE);
  failure.set_node_id("a");
  const RetryDecision decision = DecideRetry(Job({"a", "b"}), failure);
  EXPECT_EQ(decision.disposition, Disposition::kRequeue);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("a"));
  EXPECT_EQ(decision.delay, Duration(0));
}

TEST(RetryPolicyTest, NodeFailureWithoutANameAvoidsThePlacement) {
  EXPECT_THAT(DecideRetry(Job({"a", "b"}), Failed(v1::FAILURE_CLASS_NODE)).avoid_node_ids,
              ElementsAre("a"));
}

TEST(RetryPolicyTest, InfrastructureFailureAvoidsNoNode) {
  v1::Failure failure = Failed(v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_PEER_LOST);
  failure.set_node_id("a");
  const RetryDecision decision = DecideRetry(Job({"a", "b"}), failure);
  EXPECT_EQ(decision.disposition, Disposition::kRequeue);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre());
}

TEST(RetryPolicyTest, GangAvoidsOnlyTheNodeAtFault) {
  storage::LeasedJob job = Job({"a", "b", "c", "d"});
  job.node_ids = {"a", "b"};
  job.job.node_count = 2;
  v1::Failure silent = Failed(v1::FAILURE_CLASS_NODE, v1::REASON_PEER_TIMEOUT);
  silent.set_node_id("b");
  const RetryDecision decision = DecideRetry(job, silent);
  EXPECT_EQ(decision.disposition, Disposition::kRequeue);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("b"));
  EXPECT_EQ(decision.delay, Duration(0));
}

TEST(RetryPolicyTest, NodesAtFaultInEarlierAttemptsAreAvoidedIfEnoughAreLeft) {
  storage::LeasedJob job = Job({"a", "b", "c", "d"});
  job.job.node_count = 2;
  job.node_ids = {"a", "c"};
  job.failures = {{v1::FAILURE_CLASS_NODE, v1::REASON_PEER_TIMEOUT, {"a", "b"}, "b"},
                  {v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_PEER_LOST, {"a", "d"}, "d"}};
  v1::Failure lost = Failed(v1::FAILURE_CLASS_NODE, v1::REASON_AGENT_LOST);
  lost.set_node_id("c");
  RetryDecision decision = DecideRetry(job, lost);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("b", "c"));
  EXPECT_EQ(decision.delay, Duration(0));
  // Too few would be left: b has waited longest.
  job.failures = {{v1::FAILURE_CLASS_NODE, v1::REASON_PEER_TIMEOUT, {"a", "b"}, "b"},
                  {v1::FAILURE_CLASS_NODE, v1::REASON_PEER_TIMEOUT, {"a", "d"}, "d"}};
  decision = DecideRetry(job, lost);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("c", "d"));
  EXPECT_GT(decision.delay, Duration(0));
  // A failure that names no node was the fault of all of them.
  job.failures = {{v1::FAILURE_CLASS_NODE, v1::REASON_AGENT_LOST, {"a"}, ""}};
  EXPECT_THAT(DecideRetry(job, lost).avoid_node_ids, ElementsAre("a", "c"));
}

TEST(RetryPolicyTest, AsManyNodesAtFaultAsPossibleAreAvoided) {
  storage::LeasedJob job = Job({"a", "b", "c", "d", "e"});
  job.job.node_count = 3;
  job.node_ids = {"a", "b", "c"};
  v1::Failure late = Failed(v1::FAILURE_CLASS_NODE, v1::REASON_GANG_NOT_READY);
  late.set_node_id("b");
  RetryDecision decision = DecideRetry(job, late, {"c"});
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("b", "c"));
  EXPECT_EQ(decision.delay, Duration(0));
  // To avoid all where too few are left would be to avoid none.
  job.job.candidate_node_ids = {"a", "b", "c", "d"};
  decision = DecideRetry(job, late, {"c"});
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("b"));
  EXPECT_GT(decision.delay, Duration(0));
  // Includes nodes of an earlier attempt.
  job.job.candidate_node_ids = {"a", "b", "c", "d", "e", "f"};
  job.failures = {{v1::FAILURE_CLASS_NODE, v1::REASON_GANG_NOT_READY, {"b", "c", "d"}, "c", {"d"}}};
  EXPECT_THAT(DecideRetry(job, late).avoid_node_ids, ElementsAre("b", "c", "d"));
}

TEST(RetryPolicyTest, PinnedJobWaitsLongerEachTime) {
  storage::LeasedJob job = Job({"a"});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE)).delay, std::chrono::seconds(1));
  job.failures.push_back({v1::FAILURE_CLASS_NODE, v1::REASON_INTERNAL, {"a"}});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE)).delay, std::chrono::seconds(2));
}

TEST(RetryPolicyTest, JobFailureIsRetriedOnceThereAndOnceElsewhere) {
  storage::LeasedJob job = Job({"a", "b", "c"});
  RetryDecision decision = DecideRetry(job, Failed(v1::FAILURE_CLASS_JOB));
  EXPECT_EQ(decision.disposition, Disposition::kRequeue);
  EXPECT_TRUE(decision.same_nodes);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre());  // Not the list of all other nodes.
  job.failures.push_back({v1::FAILURE_CLASS_JOB, v1::REASON_INTERNAL, {"a"}});
  decision = DecideRetry(job, Failed(v1::FAILURE_CLASS_JOB));
  EXPECT_EQ(decision.disposition, Disposition::kRequeue);
  EXPECT_FALSE(decision.same_nodes);
  EXPECT_THAT(decision.avoid_node_ids, ElementsAre("a"));
  job.failures.push_back({v1::FAILURE_CLASS_JOB, v1::REASON_INTERNAL, {"a"}});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_JOB)).disposition, Disposition::kFailed);
}

TEST(RetryPolicyTest, PinnedJobFailureIsTriedTwiceInAll) {
  storage::LeasedJob job = Job({"a"});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_JOB)).disposition, Disposition::kRequeue);
  job.failures.push_back({v1::FAILURE_CLASS_JOB, v1::REASON_INTERNAL, {"a"}});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_JOB)).disposition, Disposition::kFailed);
}

TEST(RetryPolicyTest, NothingIsRetriedBeyondTheBudgetOrForUsersOrWhenCancelled) {
  storage::LeasedJob job = Job({"a", "b"});
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_USER)).disposition, Disposition::kFailed);
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE, v1::REASON_CANCELLED)).disposition,
            Disposition::kCancelled);
  job.retries = 0;
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE)).disposition, Disposition::kFailed);
  job.cancel_requested = true;
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE)).disposition, Disposition::kCancelled);
}

TEST(RetryPolicyTest, FailuresOfAssaySpendNoRetries) {
  storage::LeasedJob job = Job({"a", "b"});
  job.retries = 0;
  const v1::Failure lost = Failed(v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST);
  for (size_t i = 0; i < kInfrastructureRetries; ++i) {
    EXPECT_EQ(DecideRetry(job, lost).disposition, Disposition::kRequeue) << i;
    job.failures.push_back({v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST, {"a"}, ""});
  }
  EXPECT_EQ(DecideRetry(job, lost).disposition, Disposition::kFailed);
  // They do not use up the user's.
  job.retries = 1;
  EXPECT_EQ(DecideRetry(job, Failed(v1::FAILURE_CLASS_NODE)).disposition, Disposition::kRequeue);
}

TEST(RetryPolicyTest, RepeatedFailuresOfAssayWaitLongerEachTime) {
  storage::LeasedJob job = Job({"a", "b"});
  const v1::Failure lost = Failed(v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST);
  EXPECT_EQ(DecideRetry(job, lost).delay, Duration(0));
  job.failures.push_back({v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST, {"a"}, ""});
  const Duration second = DecideRetry(job, lost).delay;
  EXPECT_GT(second, Duration(0));
  job.failures.push_back({v1::FAILURE_CLASS_INFRASTRUCTURE, v1::REASON_LEASE_LOST, {"a"}, ""});
  EXPECT_GT(DecideRetry(job, lost).delay, second);
}

}  // namespace
}  // namespace assay::coordinator
