// The contract of every JobStore for attempts that failed: results that arrive late, and nodes that
// fail job after job.
#pragma once

#include <gmock/gmock.h>

#include "tests/contract/stores.h"

namespace assay::storage {

class AttemptsContract : public StoreContract {
 protected:
  // Claims a job of a new campaign with this many cases on node "a".
  LeasedJob Running(int cases = 1) {
    Create(MakeCampaign({MakeJob({"a"}, cases)}));
    const auto leased = Claim({"a"});
    EXPECT_EQ(leased.size(), 1U);
    return leased.empty() ? LeasedJob{} : leased[0];
  }

  // Ends the job after its attempt, because all its results have arrived.
  FinishOutcome Mend(const LeasedJob& job) {
    FinishedAttempt attempt;
    attempt.job = {job.job.job_id, job.epoch};
    attempt.mend = true;
    const auto outcome = jobs().FinishAttempt(attempt);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? *outcome : FinishOutcome{};
  }

  // Fails the job, and suspects these nodes.
  FinishOutcome Fail(const LeasedJob& job, const std::vector<std::string>& suspects,
                     Disposition disposition = Disposition::kFailed,
                     const std::string& message = "signal 11") {
    FinishedAttempt attempt;
    attempt.job = {job.job.job_id, job.epoch};
    attempt.disposition = disposition;
    attempt.failure.emplace().set_reason(v1::REASON_RUNNER_CRASHED);
    attempt.failure->set_message(message);
    attempt.suspect_node_ids = suspects;
    const auto outcome = jobs().FinishAttempt(attempt);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? *outcome : FinishOutcome{};
  }

  v1::Job OnlyJobOf(const std::string& campaign_id) {
    const auto page = jobs().ListJobs(campaign_id, {});
    EXPECT_TRUE(page.ok()) << page.status();
    return page.ok() ? page->items.at(0) : v1::Job();
  }

  v1::Node NodeA() { return *nodes().GetNode("a", kStale); }

  // Jobs of one campaign for node "a".
  std::string CreateJobs(int count) {
    std::vector<NewJob> all;
    for (int i = 0; i < count; ++i) all.push_back(MakeJob({"a"}));
    return Create(MakeCampaign(std::move(all)));
  }
};

TEST_P(AttemptsContract, Waiting_NamesQuarantinedNodes) {
  Connect({"a"});
  const std::string campaign = CreateJobs(kQuarantineJobs + 1);
  for (int i = 0; i < kQuarantineJobs; ++i) Fail(Claim({"a"}).at(0), {"a"});
  const auto waiting =
      jobs().ListWaiting(campaign, {std::chrono::minutes(1), std::chrono::minutes(1)});
  ASSERT_TRUE(waiting.ok()) << waiting.status();
  ASSERT_EQ(waiting->size(), 1U);
  EXPECT_EQ(waiting->at(0).jobs(), 1);
  EXPECT_EQ(waiting->at(0).nodes(0).quarantine(), NodeA().quarantine());
}

TEST_P(AttemptsContract, GetAttempt_ReturnsTheLatestAttemptRunningOrNot) {
  Connect({"a"});
  const LeasedJob first = Running();
  const auto get = [&](const LeasedJob& job, const std::string& node) {
    const auto attempt = jobs().GetAttempt({{job.job.job_id, job.epoch}, node});
    EXPECT_TRUE(attempt.ok()) << attempt.status();
    return attempt.ok() ? *attempt : std::nullopt;
  };
  ASSERT_TRUE(get(first, "a").has_value());
  EXPECT_EQ(get(first, "a")->state, v1::JOB_STATE_RUNNING);
  EXPECT_EQ(get(first, "a")->campaign_id, first.campaign_id);
  EXPECT_EQ(get(first, "a")->retries, 2);
  EXPECT_FALSE(get(first, "b").has_value());
  Finish(first, Disposition::kRequeue);
  EXPECT_EQ(get(first, "a")->state, v1::JOB_STATE_QUEUED);
  const LeasedJob second = Claim({"a"}).at(0);
  EXPECT_FALSE(get(first, "a").has_value());
  Finish(second, Disposition::kFailed);
  EXPECT_EQ(get(second, "a")->state, v1::JOB_STATE_FAILED);
  LeasedJob nothing = second;
  nothing.job.job_id = NewUuid();
  EXPECT_FALSE(get(nothing, "a").has_value());
}

TEST_P(AttemptsContract, LateResultsOfAQueuedJobLeaveOnlyTheOthersToRun) {
  Connect({"a"});
  const LeasedJob first = Running(3);
  Finish(first, Disposition::kRequeue);
  const auto outcomes = Commit({MakeResult(first, 0), MakeResult(first, 2)});
  EXPECT_EQ(outcomes[0].verdict, CommitVerdict::kStored);
  EXPECT_TRUE(outcomes[1].fresh);
  EXPECT_EQ(OnlyJobOf(first.campaign_id).cases_done(), 2);
  EXPECT_FALSE(Mend(first).held) << "a case has no result";
  const LeasedJob second = Claim({"a"}).at(0);
  EXPECT_EQ(second.done_cases, (std::vector<int>{0, 2}));
  EXPECT_EQ(Commit({MakeResult(first, 1)})[0].verdict, CommitVerdict::kStale);
}

TEST_P(AttemptsContract, QueuedJobWithAllItsLateResultsIsMended) {
  Connect({"a"});
  const LeasedJob job = Running(2);
  Finish(job, Disposition::kRequeue);
  Commit({MakeResult(job, 0), MakeResult(job, 1)});
  const FinishOutcome mended = Mend(job);
  EXPECT_TRUE(mended.held);
  EXPECT_TRUE(mended.campaign_ended);
  EXPECT_EQ(mended.campaign_id, job.campaign_id);
  EXPECT_EQ(OnlyJobOf(job.campaign_id).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(OnlyJobOf(job.campaign_id).has_failure());
  EXPECT_EQ(Campaign(job.campaign_id).state(), v1::CAMPAIGN_STATE_COMPLETED);
  EXPECT_TRUE(Claim({"a"}).empty());
  EXPECT_FALSE(Mend(job).held) << "it has succeeded";
}

TEST_P(AttemptsContract, FailedJobWithAllItsLateResultsIsJudgedAnew) {
  Connect({"a"});
  const LeasedJob job = Running(2);
  Commit({MakeResult(job, 0)});
  EXPECT_TRUE(Finish(job, Disposition::kFailed).campaign_ended);
  ASSERT_TRUE(jobs().SetVerdict(job.campaign_id, v1::VERDICT_FAILED, {v1::RuleVerdict()}).ok());
  EXPECT_TRUE(Commit({MakeResult(job, 1)})[0].fresh);
  const FinishOutcome mended = Mend(job);
  EXPECT_TRUE(mended.held);
  EXPECT_TRUE(mended.campaign_ended);
  EXPECT_EQ(OnlyJobOf(job.campaign_id).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(OnlyJobOf(job.campaign_id).has_failure());
  EXPECT_EQ(Campaign(job.campaign_id).verdict(), v1::VERDICT_UNSPECIFIED);
  EXPECT_EQ(Campaign(job.campaign_id).rules_size(), 0);
  EXPECT_THAT(*jobs().ListUnjudged(), ::testing::ElementsAre(job.campaign_id));
  ASSERT_TRUE(jobs().SetVerdict(job.campaign_id, v1::VERDICT_PASSED, {}).ok());
  EXPECT_EQ(Campaign(job.campaign_id).verdict(), v1::VERDICT_PASSED);
}

TEST_P(AttemptsContract, MendingAJobOfAnActiveCampaignEndsNothingElse) {
  Connect({"a"});
  CreateJobs(2);
  const LeasedJob job = Claim({"a"}).at(0);
  Finish(job, Disposition::kFailed);
  Commit({MakeResult(job)});
  const FinishOutcome mended = Mend(job);
  EXPECT_TRUE(mended.held);
  EXPECT_FALSE(mended.campaign_ended);
  EXPECT_EQ(Campaign(job.campaign_id).jobs().succeeded(), 1);
  EXPECT_EQ(Campaign(job.campaign_id).jobs().queued(), 1);
}

TEST_P(AttemptsContract, MendNeedsAnAttemptThatIsOver) {
  Connect({"a"});
  const LeasedJob first = Running();
  Commit({MakeResult(first)});
  EXPECT_FALSE(Mend(first).held) << "it runs";
  Finish(first, Disposition::kRequeue);
  const LeasedJob second = Claim({"a"}).at(0);
  EXPECT_FALSE(Mend(first).held) << "a newer attempt runs";
  Finish(second, Disposition::kFailed);
  EXPECT_FALSE(Mend(first).held);
  EXPECT_TRUE(Mend(second).held);
}

TEST_P(AttemptsContract, JobsThatEndedOtherwiseTakeNoLateResults) {
  Connect({"a"});
  for (const Disposition end :
       {Disposition::kSucceeded, Disposition::kSkipped, Disposition::kCancelled}) {
    const LeasedJob job = Running();
    Finish(job, end);
    EXPECT_EQ(Commit({MakeResult(job)})[0].verdict, CommitVerdict::kStale);
    EXPECT_FALSE(Mend(job).held);
    EXPECT_EQ(Campaign(job.campaign_id).cases_done(), 0);
  }
}

TEST_P(AttemptsContract, JobThatNeverRanTakesNoResult) {
  Connect({"a"});
  LeasedJob job;
  job.job = MakeJob({"a"});
  Create(MakeCampaign({job.job}));
  EXPECT_EQ(Commit({MakeResult(job)})[0].verdict, CommitVerdict::kStale);
}

TEST_P(AttemptsContract, NodeThatFailsFiveJobsIsQuarantined) {
  Connect({"a", "b"});
  CreateJobs(kQuarantineJobs + 1);
  for (int i = 0; i < kQuarantineJobs; ++i) {
    EXPECT_TRUE(NodeA().quarantine().empty());
    EXPECT_FALSE(NodeA().has_quarantine_time());
    const bool last = i + 1 == kQuarantineJobs;
    const FinishOutcome outcome =
        Fail(Claim({"a"}).at(0), {"a"}, Disposition::kFailed, std::string(300, 'x'));
    const std::vector<std::string> expected(last ? 1U : 0U, "name-a");
    EXPECT_EQ(outcome.quarantined, expected);
  }
  EXPECT_THAT(NodeA().quarantine(), ::testing::HasSubstr("RUNNER_CRASHED: xxx"));
  EXPECT_LT(NodeA().quarantine().size(), 300U);
  EXPECT_TRUE(NodeA().has_quarantine_time());
  EXPECT_THAT(*nodes().ListQuarantined(), ::testing::ElementsAre("a"));
  EXPECT_TRUE(nodes().GetNode("b", kStale)->quarantine().empty());

  EXPECT_TRUE(Claim({"a"}).empty());
  Create(MakeCampaign({MakeJob({"a", "b"})}));
  const auto elsewhere = Claim({"a", "b"});
  ASSERT_EQ(elsewhere.size(), 1U);
  EXPECT_EQ(elsewhere[0].node_ids, std::vector<std::string>{"b"});

  // A new session does not end the quarantine.
  Connect({"a"});
  EXPECT_FALSE(NodeA().quarantine().empty());
  ASSERT_TRUE(nodes().EndQuarantine("a").ok());
  EXPECT_TRUE(NodeA().quarantine().empty());
  EXPECT_FALSE(NodeA().has_quarantine_time());
  EXPECT_TRUE(nodes().ListQuarantined()->empty());
  const LeasedJob next = Claim({"a"}).at(0);
  EXPECT_TRUE(Fail(next, {"a"}).quarantined.empty()) << "its counts were cleared";
}

TEST_P(AttemptsContract, NodeThatFailsJobsOfThreeCampaignsIsQuarantined) {
  Connect({"a"});
  for (int i = 0; i < kQuarantineCampaigns; ++i) {
    EXPECT_EQ(Fail(Running(), {"a"}).quarantined.size(), i + 1 == kQuarantineCampaigns ? 1U : 0U);
  }
  EXPECT_FALSE(NodeA().quarantine().empty());
}

TEST_P(AttemptsContract, SuccessClearsTheCountsOfANode) {
  Connect({"a"});
  CreateJobs(2 * kQuarantineJobs);
  for (int i = 0; i < 2 * kQuarantineJobs - 1; ++i) {
    const LeasedJob job = Claim({"a"}).at(0);
    if (i == kQuarantineJobs - 1) {
      Finish(job, Disposition::kSucceeded);
    } else {
      EXPECT_TRUE(Fail(job, {"a"}).quarantined.empty()) << i;
    }
  }
}

TEST_P(AttemptsContract, RetriesOfOneJobCountOnce) {
  Connect({"a"});
  CreateJobs(1);
  for (int i = 0; i < 2 * kQuarantineJobs; ++i) {
    EXPECT_TRUE(Fail(Claim({"a"}).at(0), {"a"}, Disposition::kRequeue).quarantined.empty());
  }
}

TEST_P(AttemptsContract, OnlySuspectsAreCounted) {
  Connect({"a", "b"});
  for (int i = 0; i < kQuarantineCampaigns; ++i) {
    Create(MakeCampaign({MakeJob({"a", "b"}, 1, 2)}));
    Fail(Claim({"a", "b"}).at(0), {"b", "removed"});
  }
  EXPECT_THAT(*nodes().ListQuarantined(), ::testing::ElementsAre("b"));
}

TEST_P(AttemptsContract, CoverageIsStoredWithTheCampaign) {
  NewCampaign campaign = MakeCampaign({MakeJob({"a"})});
  campaign.spec.mutable_coverage()->set_node_count(9);
  campaign.spec.mutable_coverage()->set_absent_node_count(1);
  campaign.spec.mutable_coverage()->add_absent_nodes("g7");
  const v1::Campaign stored = Campaign(Create(campaign));
  EXPECT_EQ(stored.coverage().node_count(), 9);
  EXPECT_THAT(stored.coverage().absent_nodes(), ::testing::ElementsAre("g7"));
  EXPECT_FALSE(stored.spec().has_coverage());
  EXPECT_EQ(jobs().ListCampaigns({})->items.at(0).coverage().absent_node_count(), 1);
  EXPECT_FALSE(Campaign(Create(MakeCampaign({MakeJob({"a"})}, "other"))).has_coverage());
}

}  // namespace assay::storage
