// The contract of every JobStore: campaigns that are paused or run again.
#pragma once

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <vector>

#include "common/uuid.h"
#include "tests/contract/stores.h"

namespace assay::storage {

class JobRerunContract : public StoreContract {
 protected:
  // Returns a job of the first repetition.
  static NewJob Job(int cases = 1) {
    NewJob job = MakeJob({"a"}, cases);
    job.repetition = 1;
    return job;
  }

  Status Rerun(const std::string& id, bool failed_only, const std::string& request_id = NewUuid()) {
    return jobs().RerunCampaign({id, request_id, failed_only, 1, "somebody"});
  }

  void SetVerdict(const std::string& id, v1::Verdict verdict) {
    ASSERT_TRUE(jobs().SetVerdict(id, verdict, {}).ok());
  }

  std::vector<v1::Job> JobsOf(const std::string& id) {
    const auto page = jobs().ListJobs(id, {});
    EXPECT_TRUE(page.ok()) << page.status();
    return page->items;
  }

  // Returns a campaign with verdict FAILED. Its first job succeeded, the second failed after one of
  // its two cases, and the third failed with a result of its only case.
  std::string FailedCampaign() {
    Connect({"a"});
    const std::string id = Create(MakeCampaign({Job(), Job(2), Job()}));
    for (const Disposition end :
         {Disposition::kSucceeded, Disposition::kFailed, Disposition::kFailed}) {
      const LeasedJob job = Claim({"a"}).at(0);
      Commit({MakeResult(job)});
      Finish(job, end);
    }
    SetVerdict(id, v1::VERDICT_FAILED);
    return id;
  }
};

TEST_P(JobRerunContract, Failed_QueuesOnlyJobsWithCasesWithoutAResult) {
  const std::string id = FailedCampaign();
  ASSERT_TRUE(Rerun(id, true).ok());
  v1::Campaign campaign = Campaign(id);
  EXPECT_EQ(campaign.state(), v1::CAMPAIGN_STATE_ACTIVE);
  EXPECT_EQ(campaign.verdict(), v1::VERDICT_UNSPECIFIED);
  EXPECT_FALSE(campaign.has_end_time());
  EXPECT_EQ(campaign.jobs().queued(), 1);
  EXPECT_EQ(campaign.jobs().failed(), 1);
  EXPECT_EQ(campaign.case_count(), 4);
  ASSERT_EQ(campaign.reruns_size(), 1);
  EXPECT_TRUE(campaign.reruns(0).failed_only());
  EXPECT_EQ(campaign.reruns(0).job_count(), 1);
  EXPECT_EQ(campaign.reruns(0).requested_by(), "somebody");
  EXPECT_TRUE(campaign.spec().reruns().empty());
  const LeasedJob again = Claim({"a"}).at(0);
  EXPECT_EQ(again.epoch, 2);
  EXPECT_EQ(again.done_cases, std::vector<int>{0});
  EXPECT_TRUE(again.failures.empty());
  Commit({MakeResult(again, 1)});
  EXPECT_TRUE(Finish(again, Disposition::kSucceeded).campaign_ended);
  EXPECT_EQ(*jobs().ListUnjudged(), std::vector<std::string>{id});
  EXPECT_EQ(Campaign(id).cases_done(), 4);
}

TEST_P(JobRerunContract, Paused_StartsNoJob_UntilResumed) {
  Connect({"a"});
  const std::string id = Create(MakeCampaign({Job(), Job()}));
  const LeasedJob running = Claim({"a"}).at(0);
  ASSERT_TRUE(jobs().SetPaused(id, true, "alice").ok());
  const v1::Campaign paused = Campaign(id);
  EXPECT_EQ(paused.state(), v1::CAMPAIGN_STATE_ACTIVE);
  EXPECT_TRUE(paused.has_pause_time());
  EXPECT_EQ(paused.paused_by(), "alice");
  EXPECT_EQ(jobs().GetQueueStats()->counts.queued(), 0);
  EXPECT_EQ(jobs().GetQueueStats()->paused, 1);
  EXPECT_EQ(jobs().GetQueueStats()->paused_campaigns, 1);
  EXPECT_EQ(jobs().GetQueueStats()->active_campaigns, 0);
  EXPECT_FALSE(jobs().GetQueueStats()->oldest_queued.has_value());

  ASSERT_TRUE(jobs().SetPaused(id, true, "bob").ok());
  EXPECT_EQ(Campaign(id).paused_by(), "alice");
  EXPECT_EQ(Campaign(id).pause_time().seconds(), paused.pause_time().seconds());

  Finish(running, Disposition::kSucceeded);
  EXPECT_TRUE(Claim({"a"}).empty());

  ASSERT_TRUE(jobs().SetPaused(id, false, "bob").ok());
  EXPECT_FALSE(Campaign(id).has_pause_time());
  EXPECT_EQ(jobs().GetQueueStats()->counts.queued(), 1);
  EXPECT_EQ(Claim({"a"}).size(), 1U);
}

TEST_P(JobRerunContract, Paused_EndsWithItsLastJobs_AndRunsAgainUnpaused) {
  Connect({"a"});
  const std::string id = Create(MakeCampaign({Job()}));
  const LeasedJob running = Claim({"a"}).at(0);
  ASSERT_TRUE(jobs().SetPaused(id, true, "alice").ok());
  EXPECT_TRUE(Finish(running, Disposition::kFailed).campaign_ended);
  EXPECT_FALSE(Campaign(id).has_pause_time());
  for (const bool paused : {true, false}) {
    EXPECT_EQ(jobs().SetPaused(id, paused, "alice").reason(), Reason::kCampaignEnded);
    EXPECT_EQ(jobs().SetPaused("none", paused, "alice").code(), Code::kNotFound);
  }
  SetVerdict(id, v1::VERDICT_FAILED);
  ASSERT_TRUE(Rerun(id, true).ok());
  EXPECT_FALSE(Campaign(id).has_pause_time());
  EXPECT_EQ(Claim({"a"}).size(), 1U);
}

TEST_P(JobRerunContract, Paused_CanBeCancelled) {
  Connect({"a"});
  const std::string id = Create(MakeCampaign({Job()}));
  ASSERT_TRUE(jobs().SetPaused(id, true, "").ok());
  ASSERT_TRUE(jobs().CancelCampaign(id).ok());
  EXPECT_EQ(Campaign(id).state(), v1::CAMPAIGN_STATE_CANCELLED);
  EXPECT_FALSE(Campaign(id).has_pause_time());
}

TEST_P(JobRerunContract, Cancelled_RunsAgain) {
  Connect({"a"});
  const std::string id = Create(MakeCampaign({Job(), Job()}));
  const LeasedJob running = Claim({"a"}).at(0);
  ASSERT_TRUE(jobs().CancelCampaign(id).ok());
  Finish(running, Disposition::kCancelled);
  SetVerdict(id, v1::VERDICT_FAILED);
  ASSERT_TRUE(Rerun(id, true).ok());
  EXPECT_EQ(Campaign(id).jobs().queued(), 2);
  for (int i = 0; i < 2; ++i) {
    const LeasedJob job = Claim({"a"}).at(0);
    EXPECT_FALSE(job.cancel_requested);
    Commit({MakeResult(job)});
    Finish(job, Disposition::kSucceeded);
  }
  EXPECT_EQ(Campaign(id).state(), v1::CAMPAIGN_STATE_COMPLETED);
  EXPECT_EQ(Campaign(id).jobs().succeeded(), 2);
}

TEST_P(JobRerunContract, All_RunAsNewJobsOfTheNextRepetition) {
  const std::string id = FailedCampaign();
  const std::vector<v1::Job> before = JobsOf(id);
  for (int run = 2; run <= 3; ++run) {
    ASSERT_TRUE(Rerun(id, false).ok());
    EXPECT_EQ(Campaign(id).jobs().queued(), 3);
    EXPECT_EQ(Campaign(id).case_count(), 4 * run);
    std::set<uint64_t> seeds;
    for (int i = 0; i < 3; ++i) {
      const LeasedJob job = Claim({"a"}).at(0);
      EXPECT_EQ(job.epoch, 1);
      EXPECT_EQ(job.job.repetition, run);
      EXPECT_EQ(job.job.benchmark, "cpu_gemm");
      EXPECT_EQ(static_cast<int>(job.job.cases.size()),
                before[static_cast<size_t>(i)].case_count());
      EXPECT_TRUE(job.done_cases.empty());
      EXPECT_NE(job.job.seed, 7U);
      for (int c = 0; c < static_cast<int>(job.job.cases.size()); ++c) {
        EXPECT_TRUE(Commit({MakeResult(job, c)}).at(0).fresh);
      }
      Finish(job, Disposition::kSucceeded);
    }
    EXPECT_EQ(Campaign(id).cases_done(), 3 + 4 * (run - 1));
    SetVerdict(id, v1::VERDICT_PASSED);
  }
  EXPECT_EQ(JobsOf(id).size(), 9U);
  EXPECT_EQ(JobsOf(id)[1].state(), v1::JOB_STATE_FAILED);
  // Failures of earlier runs are not queued again.
  EXPECT_EQ(Rerun(id, true).code(), Code::kFailedPrecondition);
}

TEST_P(JobRerunContract, SameRequest_ChangesNothing) {
  const std::string id = FailedCampaign();
  const std::string request = NewUuid();
  ASSERT_TRUE(Rerun(id, false, request).ok());
  ASSERT_TRUE(Rerun(id, false, request).ok());
  EXPECT_EQ(JobsOf(id).size(), 6U);
  EXPECT_EQ(Rerun(id, false).code(), Code::kFailedPrecondition);
  for (int i = 0; i < 3; ++i) Finish(Claim({"a"}).at(0), Disposition::kFailed);
  SetVerdict(id, v1::VERDICT_FAILED);
  ASSERT_TRUE(Rerun(id, true, request).ok());
  EXPECT_EQ(Campaign(id).state(), v1::CAMPAIGN_STATE_COMPLETED);
  EXPECT_EQ(Campaign(id).reruns_size(), 1);
}

TEST_P(JobRerunContract, OpenUnjudgedAndUnknownCampaigns_AreRefused) {
  Connect({"a"});
  const std::string id = Create(MakeCampaign({Job()}));
  for (const bool failed_only : {false, true}) {
    EXPECT_EQ(Rerun(id, failed_only).code(), Code::kFailedPrecondition);
    EXPECT_EQ(Rerun("none", failed_only).code(), Code::kNotFound);
  }
  const LeasedJob job = Claim({"a"}).at(0);
  Commit({MakeResult(job)});
  Finish(job, Disposition::kSucceeded);
  EXPECT_EQ(Rerun(id, false).code(), Code::kFailedPrecondition);
  SetVerdict(id, v1::VERDICT_PASSED);
  EXPECT_EQ(Rerun(id, true).code(), Code::kFailedPrecondition);
  EXPECT_EQ(Campaign(id).verdict(), v1::VERDICT_PASSED);
  EXPECT_EQ(Campaign(id).reruns_size(), 0);
}

TEST_P(JobRerunContract, Verdict_IsNotStoredWhileTheCampaignRunsAgain) {
  const std::string id = FailedCampaign();
  ASSERT_TRUE(Rerun(id, false).ok());
  SetVerdict(id, v1::VERDICT_PASSED);
  EXPECT_EQ(Campaign(id).verdict(), v1::VERDICT_UNSPECIFIED);
  EXPECT_EQ(Campaign(id).state(), v1::CAMPAIGN_STATE_ACTIVE);
}

}  // namespace assay::storage
