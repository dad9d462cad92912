// The contract of every JobStore: campaigns and their jobs.
#pragma once

#include <gmock/gmock.h>

#include <random>
#include <set>
#include <thread>

#include "common/uuid.h"
#include "storage/store_rules.h"
#include "tests/contract/stores.h"
#include "wire/bounds.h"

namespace assay::storage {

class JobStoreContract : public StoreContract {};

TEST_P(JobStoreContract, CampaignIsStoredOnceForARequest) {
  NewCampaign campaign = MakeCampaign({MakeJob({"a"}, 3), MakeJob({"a"}, 2)});
  const std::string id = Create(campaign);
  EXPECT_EQ(id, campaign.campaign_id);
  NewCampaign again = campaign;
  again.campaign_id = NewUuid();
  EXPECT_EQ(Create(again), id);
  NewCampaign taken = campaign;
  taken.request_id = NewUuid();
  EXPECT_EQ(jobs().CreateCampaign(taken).status().code(), Code::kAlreadyExists);

  const v1::Campaign stored = Campaign(id);
  EXPECT_EQ(stored.name(), "sweep");
  EXPECT_EQ(stored.state(), v1::CAMPAIGN_STATE_ACTIVE);
  EXPECT_EQ(stored.jobs().queued(), 2);
  EXPECT_EQ(stored.case_count(), 5);
  EXPECT_EQ(stored.spec().retries(), 2);
  EXPECT_EQ(jobs().GetCampaign("nothing").status().code(), Code::kNotFound);
}

// Compares what the stores say about a campaign with its jobs.
TEST_P(JobStoreContract, CountsFollowTheJobsThroughRandomOperations) {
  Connect({"a", "b"});
  std::minstd_rand random(7);
  const auto below = [&](int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(random);
  };
  std::vector<std::string> ids;
  std::vector<LeasedJob> running;
  for (int step = 0; step < 120; ++step) {
    const int kind = below(8);
    if (kind == 0 || ids.empty()) {
      ids.push_back(Create(MakeCampaign({MakeJob({"a"}, 2), MakeJob({"b"}, 1), MakeJob({"a"})})));
    } else if (kind == 1 && ids.size() > 2) {
      ASSERT_TRUE(jobs()
                      .CancelCampaign(ids[static_cast<size_t>(below(static_cast<int>(ids.size())))])
                      .ok());
    } else if (kind < 4) {
      for (LeasedJob& job : Claim({"a", "b"})) running.push_back(std::move(job));
    } else if (!running.empty() && kind == 4) {
      Commit({MakeResult(running.front(), 0)});
    } else if (!running.empty()) {
      constexpr Disposition kEnds[] = {Disposition::kSucceeded, Disposition::kFailed,
                                       Disposition::kSkipped, Disposition::kRequeue};
      Finish(running.back(), kEnds[below(4)]);
      running.pop_back();
    }
  }
  v1::JobCounts all;
  for (const std::string& id : ids) {
    v1::JobCounts counted;
    int cases = 0, done = 0;
    const auto jobs_of = jobs().ListJobs(id, {});
    for (const v1::Job& job : jobs_of->items) {
      AddToCounts(job.state(), 1, &counted);
      AddToCounts(job.state(), 1, &all);
      cases += job.case_count();
      done += job.cases_done();
    }
    const v1::Campaign campaign = Campaign(id);
    EXPECT_EQ(campaign.jobs().ShortDebugString(), counted.ShortDebugString());
    EXPECT_EQ(campaign.case_count(), cases);
    EXPECT_EQ(campaign.cases_done(), done);
  }
  EXPECT_EQ(jobs().GetQueueStats()->counts.ShortDebugString(), all.ShortDebugString());
  EXPECT_GT(all.cancelled() * all.failed() * all.succeeded() * all.skipped(), 0);
}

TEST_P(JobStoreContract, GetByName_ReturnsTheNewestCampaign) {
  Create(MakeCampaign({MakeJob({"a"})}));
  const std::string newest = Create(MakeCampaign({MakeJob({"a"})}));
  EXPECT_EQ(Campaign("sweep").campaign_id(), newest);
}

TEST_P(JobStoreContract, UnknownNameHintsAtTheClosestCampaign) {
  for (const char* name : {"nightly gemm 1", "sweep", "nightly gemm 2"}) {
    NewCampaign campaign = MakeCampaign({MakeJob({"a"})});
    campaign.spec.set_name(name);
    Create(campaign);
  }
  const Status mistyped = jobs().GetCampaign("swep").status();
  EXPECT_EQ(mistyped.hint(), "did you mean \"sweep\"?");
  // The newest of several names that are equally close.
  EXPECT_EQ(jobs().GetCampaign("nightly gemm").status().hint(), "did you mean \"nightly gemm 2\"?");
  EXPECT_EQ(jobs().GetCampaign("nothing").status().hint(), "");
}

TEST_P(JobStoreContract, ListsPageByPage) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(Create(MakeCampaign({MakeJob({"a"})})));
  std::vector<std::string> listed;
  PageRequest request{2, ""};
  do {
    const auto page = jobs().ListCampaigns(request);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const auto& campaign : page->items) {
      EXPECT_FALSE(campaign.has_spec());
      listed.push_back(campaign.campaign_id());
    }
    request.token = page->next_token;
  } while (!request.token.empty());
  EXPECT_EQ(listed, std::vector<std::string>(ids.rbegin(), ids.rend()));

  NewCampaign many = MakeCampaign({MakeJob({"a"}), MakeJob({"a"}), MakeJob({"a"})});
  Create(many);
  const auto first = jobs().ListJobs(many.campaign_id, {2, ""});
  const auto second = jobs().ListJobs(many.campaign_id, {2, first->next_token});
  ASSERT_EQ(first->items.size(), 2U);
  ASSERT_EQ(second->items.size(), 1U);
  EXPECT_EQ(first->items[0].job_id(), many.jobs[0].job_id);
  EXPECT_EQ(second->items[0].job_id(), many.jobs[2].job_id);
  EXPECT_EQ(second->next_token, "");
}

TEST_P(JobStoreContract, ActiveCampaignsAreListedNewestFirst) {
  const std::string oldest = Create(MakeCampaign({MakeJob({"a"}), MakeJob({"a"})}));
  const std::string ended = Create(MakeCampaign({MakeJob({"a"})}));
  ASSERT_TRUE(jobs().CancelCampaign(ended).ok());
  const std::string newest = Create(MakeCampaign({MakeJob({"a"})}));
  const auto active = jobs().ListActiveCampaigns(10);
  ASSERT_TRUE(active.ok()) << active.status();
  ASSERT_EQ(active->size(), 2U);
  EXPECT_EQ(active->at(0).campaign_id(), newest);
  EXPECT_EQ(active->at(1).campaign_id(), oldest);
  EXPECT_EQ(active->at(1).jobs().queued(), 2);
  EXPECT_FALSE(active->at(1).has_spec());
  EXPECT_EQ(jobs().ListActiveCampaigns(1)->size(), 1U);
}

TEST_P(JobStoreContract, PagesOfLargeJobsHaveFewItems) {
  Connect({"a"});
  NewCampaign many = MakeCampaign(std::vector<NewJob>());
  for (int i = 0; i < 40; ++i) many.jobs.push_back(MakeJob({"a"}));
  Create(many);
  for (size_t i = 0; i < many.jobs.size(); ++i) {
    FinishedAttempt attempt;
    const LeasedJob leased = Claim({"a"}).at(0);
    attempt.job = {leased.job.job_id, leased.epoch};
    attempt.disposition = Disposition::kFailed;
    attempt.failure.emplace().set_evidence(std::string(100'000, 'x'));
    ASSERT_TRUE(jobs().FinishAttempt(attempt).ok());
  }
  std::vector<std::string> listed;
  PageRequest request{1000, ""};
  do {
    const auto page = jobs().ListJobs(many.campaign_id, request);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_LT(page->items.size(), 25U);
    for (const v1::Job& job : page->items) listed.push_back(job.job_id());
    request.token = page->next_token;
  } while (!request.token.empty());
  std::vector<std::string> created;
  for (const NewJob& job : many.jobs) created.push_back(job.job_id);
  EXPECT_EQ(listed, created);
}

TEST_P(JobStoreContract, TheLargestCampaignsCanAllBeListed) {
  constexpr int kCampaigns = 10;
  Connect({"a"});
  for (int i = 0; i < kCampaigns; ++i) {
    NewCampaign campaign = MakeCampaign({MakeJob({"a"})});
    std::vector<v1::RuleVerdict> rules;
    while (campaign.spec.ByteSizeLong() < (2030 << 10)) {
      rules.emplace_back().set_rule(std::string(16 << 10, 'r'));
      campaign.spec.add_accept()->set_text(rules.back().rule());
    }
    ASSERT_TRUE(schema::CheckBounds(campaign.spec, Reason::kInternal).ok());
    Create(campaign);
    Finish(Claim({"a"}).at(0), Disposition::kSucceeded);
    ASSERT_TRUE(jobs().SetVerdict(campaign.campaign_id, v1::VERDICT_PASSED, rules).ok());
    const auto one = jobs().GetCampaign(campaign.campaign_id);
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_LT(one->ByteSizeLong(), 16U << 20) << "gRPC refuses larger messages";
  }
  size_t listed = 0;
  PageRequest request{1000, ""};
  do {
    const auto page = jobs().ListCampaigns(request);
    ASSERT_TRUE(page.ok()) << page.status();
    size_t bytes = 0;
    for (const v1::Campaign& item : page->items) bytes += item.ByteSizeLong();
    EXPECT_LT(bytes, 16U << 20);
    listed += page->items.size();
    request.token = page->next_token;
  } while (!request.token.empty());
  EXPECT_EQ(listed, kCampaigns);
}

TEST_P(JobStoreContract, SucceededJobKeepsItsLastFailure) {
  Connect({"a"});
  const std::string id = Create(MakeCampaign({MakeJob({"a"})}));
  Finish(Claim({"a"}).at(0), Disposition::kRequeue);
  Finish(Claim({"a"}).at(0), Disposition::kSucceeded);
  EXPECT_EQ(jobs().ListJobs(id, {1, ""})->items.at(0).failure().reason(),
            v1::REASON_RUNNER_CRASHED);
}

TEST_P(JobStoreContract, PageTokensOfOtherListsAreRefused) {
  const std::string id = Create(MakeCampaign({MakeJob({"a"})}));
  for (const char* token : {"x", "r1", "c-1", "c1' OR 1=1", "99"}) {
    EXPECT_EQ(jobs().ListCampaigns({2, token}).status().code(), Code::kInvalidArgument) << token;
    EXPECT_EQ(jobs().ListJobs(id, {2, token}).status().code(), Code::kInvalidArgument) << token;
  }
}

TEST_P(JobStoreContract, LastJobEndsTheCampaign) {
  Connect({"a", "b"});
  const std::string id = Create(MakeCampaign({MakeJob({"a"}), MakeJob({"b"})}));
  const auto leased = Claim({"a", "b"});
  ASSERT_EQ(leased.size(), 2U);
  EXPECT_FALSE(Finish(leased[0], Disposition::kFailed).campaign_ended);
  EXPECT_TRUE(jobs().ListUnjudged()->empty());
  EXPECT_FALSE(Campaign(id).has_end_time());
  const FinishOutcome last = Finish(leased[1], Disposition::kSkipped);
  EXPECT_TRUE(last.campaign_ended);
  EXPECT_EQ(last.campaign_id, id);
  const v1::Campaign ended = Campaign(id);
  EXPECT_EQ(ended.state(), v1::CAMPAIGN_STATE_COMPLETED);
  EXPECT_TRUE(ended.has_end_time());
  EXPECT_EQ(ended.jobs().failed(), 1);
  EXPECT_EQ(ended.jobs().skipped(), 1);

  EXPECT_EQ(*jobs().ListUnjudged(), std::vector<std::string>{id});
  v1::RuleVerdict rule;
  rule.set_rule("gemm.tflops >= 1");
  EXPECT_TRUE(jobs().SetVerdict(id, v1::VERDICT_FAILED, {rule}).ok());
  EXPECT_TRUE(jobs().SetVerdict(id, v1::VERDICT_PASSED, {}).ok());
  EXPECT_EQ(Campaign(id).verdict(), v1::VERDICT_FAILED);
  ASSERT_EQ(Campaign(id).rules_size(), 1);
  EXPECT_TRUE(jobs().ListUnjudged()->empty());
  EXPECT_EQ(jobs().SetVerdict("none", v1::VERDICT_PASSED, {}).code(), Code::kNotFound);
}

TEST_P(JobStoreContract, TwoJobsThatEndAtOnceEndTheCampaignOnce) {
  Connect({"a", "b"});
  for (int round = 0; round < 8; ++round) {
    Create(MakeCampaign({MakeJob({"a"}), MakeJob({"b"})}));
    const auto leased = Claim({"a", "b"});
    ASSERT_EQ(leased.size(), 2U);
    FinishOutcome outcomes[2];
    std::thread other([&] { outcomes[0] = Finish(leased[0], Disposition::kSucceeded); });
    outcomes[1] = Finish(leased[1], Disposition::kSucceeded);
    other.join();
    EXPECT_NE(outcomes[0].campaign_ended, outcomes[1].campaign_ended);
  }
}

TEST_P(JobStoreContract, CancelEndsQueuedJobsAndMarksRunningOnes) {
  Connect({"a"});
  const std::string id = Create(MakeCampaign({MakeJob({"a"}), MakeJob({"a"})}));
  const auto leased = Claim({"a"});
  ASSERT_EQ(leased.size(), 1U);
  const JobEpoch running{leased[0].job.job_id, leased[0].epoch};
  EXPECT_EQ(*jobs().CancelCampaign(id), std::vector<JobEpoch>{running});
  EXPECT_EQ(*jobs().CancelCampaign(id), std::vector<JobEpoch>{running});
  EXPECT_EQ(Campaign(id).jobs().cancelled(), 1);
  EXPECT_EQ(Campaign(id).state(), v1::CAMPAIGN_STATE_ACTIVE);
  EXPECT_TRUE(jobs()
                  .RenewLeases("owner", std::chrono::minutes(1), {{running, "a"}})
                  ->at(0)
                  .cancel_requested);
  EXPECT_TRUE(Finish(leased[0], Disposition::kRequeue).campaign_ended);
  EXPECT_EQ(Campaign(id).state(), v1::CAMPAIGN_STATE_CANCELLED);
  EXPECT_EQ(Campaign(id).jobs().cancelled(), 2);
  EXPECT_TRUE(jobs().CancelCampaign(id)->empty());
  EXPECT_EQ(jobs().CancelCampaign("none").status().code(), Code::kNotFound);
  EXPECT_TRUE(Claim({"a"}).empty());
}

TEST_P(JobStoreContract, CancelBeforeAnyClaimEndsTheCampaign) {
  const std::string id = Create(MakeCampaign({MakeJob({"a"})}));
  EXPECT_TRUE(jobs().CancelCampaign(id)->empty());
  EXPECT_EQ(Campaign(id).state(), v1::CAMPAIGN_STATE_CANCELLED);
}

TEST_P(JobStoreContract, ChangesAfterARevisionMissNothing) {
  Connect({"a"});
  const std::string id = Create(MakeCampaign({MakeJob({"a"}), MakeJob({"a"})}));
  const auto all = jobs().ListJobChanges(id, 0);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->jobs.size(), 2U);
  const auto leased = Claim({"a"});
  const auto changed = jobs().ListJobChanges(id, all->revision);
  std::set<std::string> ids;
  for (const v1::Job& job : changed->jobs) ids.insert(job.job_id());
  EXPECT_TRUE(ids.contains(leased.at(0).job.job_id));
  EXPECT_GE(changed->revision, all->revision);
  EXPECT_EQ(jobs().ListJobChanges("none", 0).status().code(), Code::kNotFound);
}

TEST_P(JobStoreContract, QueueStatsCountJobsByState) {
  EXPECT_FALSE(jobs().GetQueueStats()->oldest_queued.has_value());
  EXPECT_EQ(jobs().GetQueueStats()->active_campaigns, 0);
  Connect({"a"});
  Create(MakeCampaign({MakeJob({"a"}), MakeJob({"a"}), MakeJob({"a"})}));
  Finish(Claim({"a"}).at(0), Disposition::kSucceeded);
  Claim({"a"});
  const auto stats = jobs().GetQueueStats();
  EXPECT_EQ(stats->counts.queued(), 1);
  EXPECT_EQ(stats->counts.running(), 1);
  EXPECT_EQ(stats->counts.succeeded(), 1);
  EXPECT_TRUE(stats->oldest_queued.has_value());
  EXPECT_EQ(stats->active_campaigns, 1);
}

}  // namespace assay::storage
