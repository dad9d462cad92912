// The contract of every JobStore.
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

TEST_P(JobStoreContract, ClaimReturnsTheJobAsStored) {
  Connect({"a", "b"});
  NewJob job = MakeJob({"a", "b"}, 2);
  job.gpu_indices = {3, 1};
  job.exclusive_node = false;
  job.seed = ~uint64_t{0};
  job.repetition = 4;
  job.counters = true;
  job.mixed_gpus = true;
  job.effort = v1::EFFORT_QUICK;
  job.nccl = {{"NCCL_ALGO", "Ring"}};
  job.benchmark_index = 3;
  const std::string id = Create(MakeCampaign({job, MakeJob({"c"})}));
  const auto leased = Claim({"a", "b", "unknown"});
  ASSERT_EQ(leased.size(), 1U);
  EXPECT_EQ(leased[0].campaign_id, id);
  EXPECT_EQ(leased[0].epoch, 1);
  EXPECT_EQ(leased[0].retries, 2);
  EXPECT_EQ(leased[0].node_ids, std::vector<std::string>{"a"});
  EXPECT_EQ(leased[0].job.job_id, job.job_id);
  EXPECT_EQ(leased[0].job.gpu_indices, job.gpu_indices);
  EXPECT_EQ(leased[0].job.candidate_node_ids, job.candidate_node_ids);
  EXPECT_EQ(leased[0].job.seed, job.seed);
  EXPECT_EQ(leased[0].job.repetition, 4);
  EXPECT_TRUE(leased[0].job.counters);
  EXPECT_TRUE(leased[0].job.mixed_gpus);
  EXPECT_EQ(leased[0].job.effort, v1::EFFORT_QUICK);
  EXPECT_EQ(leased[0].job.nccl, job.nccl);
  EXPECT_EQ(leased[0].job.timeout, job.timeout);
  ASSERT_EQ(leased[0].job.cases.size(), 2U);
  EXPECT_EQ(leased[0].job.cases[1].parameters().at("m"), "2");
  const auto listed = jobs().ListJobs(id, {});
  EXPECT_EQ(listed->items[0].state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(listed->items[0].node_names(0), "name-a");
  EXPECT_EQ(listed->items[0].attempts(), 1);
  EXPECT_EQ(listed->items[0].benchmark_index(), 3);
  EXPECT_FALSE(listed->items[1].has_benchmark_index());
}

TEST_P(JobStoreContract, ClaimsByPriorityThenFairnessThenAge) {
  Connect({"a", "b", "c", "d", "e"});
  NewCampaign old = MakeCampaign({MakeJob({"a"}), MakeJob({"b"}), MakeJob({"c"})});
  NewCampaign young = MakeCampaign({MakeJob({"d"})});
  NewCampaign urgent = MakeCampaign({MakeJob({"e"})}, "urgent", 10);
  Create(old);
  Create(young);
  Create(urgent);
  std::vector<std::string> order;
  for (const LeasedJob& job : Claim({"a", "b", "c", "d", "e"}, 4)) {
    order.push_back(job.job.job_id);
  }
  EXPECT_EQ(order, (std::vector<std::string>{urgent.jobs[0].job_id, old.jobs[0].job_id,
                                             young.jobs[0].job_id, old.jobs[1].job_id}));
}

TEST_P(JobStoreContract, ExclusiveNodeHoldsTheWholeNode) {
  Connect({"a"});
  NewJob gpu = MakeJob({"a"});
  gpu.gpu_indices = {0};
  gpu.exclusive_node = false;
  Create(MakeCampaign({MakeJob({"a"}), gpu}));
  const auto first = Claim({"a"});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(Claim({"a"}).empty());
  EXPECT_TRUE(Finish(first[0], Disposition::kSucceeded).held);
  EXPECT_EQ(Claim({"a"}).size(), 1U);
}

TEST_P(JobStoreContract, ExclusiveGpuHoldsOnlyItsGpus) {
  Connect({"a"});
  std::vector<NewJob> list;
  for (std::vector<int> gpus : {std::vector<int>{0, 1}, {1, 2}, {2, 3}}) {
    list.push_back(MakeGpuJob("a", std::move(gpus)));
  }
  list.push_back(MakeJob({"a"}));
  Create(MakeCampaign(list));
  const auto leased = Claim({"a"});
  ASSERT_EQ(leased.size(), 2U);
  EXPECT_EQ(leased[0].job.job_id, list[0].job_id);
  EXPECT_EQ(leased[1].job.job_id, list[2].job_id);
  Finish(leased[0], Disposition::kSucceeded);
  EXPECT_TRUE(Claim({"a"}).empty());
  Finish(leased[1], Disposition::kSucceeded);
  EXPECT_EQ(Claim({"a"}).size(), 1U);
}

TEST_P(JobStoreContract, GangTakesAllItsNodesOrNone) {
  Connect({"a", "b", "c"});
  Create(MakeCampaign({MakeJob({"a"})}, "one", 10));
  Create(MakeCampaign({MakeJob({"b", "a"}, 1, 2), MakeJob({"b"})}));
  const auto first = Claim({"a", "b"});
  ASSERT_EQ(first.size(), 2U);  // a alone, and b alone: the gang holds nothing.
  Finish(first[0], Disposition::kSucceeded);
  EXPECT_TRUE(Claim({"a", "b"}).empty());
  Finish(first[1], Disposition::kSucceeded);
  EXPECT_TRUE(Claim({"a"}).empty());
  const auto gang = Claim({"a", "b"});
  ASSERT_EQ(gang.size(), 1U);
  EXPECT_EQ(gang[0].node_ids, (std::vector<std::string>{"b", "a"}));
}

TEST_P(JobStoreContract, SmallJobsDoNotStarveAGang) {
  Connect({"a", "b"});
  Create(MakeCampaign({MakeJob({"a"}), MakeJob({"b"}), MakeJob({"a"}), MakeJob({"a"})}));
  const std::string gang = Create(MakeCampaign({MakeJob({"a", "b"}, 1, 2)}));
  const auto first = Claim({"a", "b"});
  ASSERT_EQ(first.size(), 2U);
  Finish(first[0], Disposition::kSucceeded);
  // Nothing is kept for it yet.
  const auto second = Claim({"a", "b"});
  ASSERT_EQ(second.size(), 1U);
  stores_->Pass(std::chrono::minutes(3));
  Finish(second[0], Disposition::kSucceeded);
  EXPECT_TRUE(Claim({"a", "b"}).empty());
  // Without b it could not run, so that nothing is kept.
  const auto third = Claim({"a"});
  ASSERT_EQ(third.size(), 1U);
  Finish(third[0], Disposition::kSucceeded);
  Create(MakeCampaign({MakeJob({"a"})}));
  EXPECT_TRUE(Claim({"a", "b"}).empty());
  Finish(first[1], Disposition::kSucceeded);
  const auto last = Claim({"a", "b"});
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].campaign_id, gang);
}

TEST_P(JobStoreContract, WaitingJobReservesOnlyTheNodesItNeeds) {
  Connect({"a", "b", "c"});
  Create(MakeCampaign({MakeGpuJob("a", {0})}));
  const auto running = Claim({"a", "b", "c"});
  ASSERT_EQ(running.size(), 1U);
  const std::string both = Create(MakeCampaign({MakeGpuJob("a", {0, 1})}));
  stores_->Pass(std::chrono::minutes(3));
  Create(MakeCampaign({MakeGpuJob("a", {1})}));
  const std::string other = Create(MakeCampaign({MakeGpuJob("a", {2})}));
  const std::string elsewhere = Create(MakeCampaign({MakeJob({"b"})}));
  const std::string urgent = Create(MakeCampaign({MakeGpuJob("a", {1})}, "urgent", 10));
  std::set<std::string> claimed;
  LeasedJob first;
  for (const LeasedJob& job : Claim({"a", "b", "c"})) {
    claimed.insert(job.campaign_id);
    if (job.campaign_id == urgent) first = job;
  }
  EXPECT_EQ(claimed, (std::set<std::string>{other, elsewhere, urgent}));
  Finish(first, Disposition::kSucceeded);
  EXPECT_TRUE(Claim({"a", "b", "c"}).empty());
  Finish(running[0], Disposition::kSucceeded);
  const auto last = Claim({"a", "b", "c"});
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].campaign_id, both);
}

TEST_P(JobStoreContract, JobsBehindABusyHeadAreClaimed) {
  Connect({"a", "b"});
  std::vector<NewJob> list;
  for (int i = 0; i < 40; ++i) list.push_back(MakeJob({"a"}));
  list.push_back(MakeJob({"b"}));
  Create(MakeCampaign(list));
  const auto leased = Claim({"a", "b"}, 2);
  ASSERT_EQ(leased.size(), 2U);
  EXPECT_EQ(leased[1].job.job_id, list.back().job_id);
}

TEST_P(JobStoreContract, ConcurrentClaimersNeverShareAJobOrANode) {
  std::vector<std::string> ids;
  std::vector<NewJob> list;
  for (int i = 0; i < 24; ++i) ids.push_back("n" + std::to_string(i));
  Connect(ids);
  for (int i = 0; i < 60; ++i) {
    list.push_back(i % 5 == 0 ? MakeJob(ids, 1, 3) : MakeJob({ids[static_cast<size_t>(i) % 24]}));
  }
  Create(MakeCampaign(list));
  std::vector<std::vector<LeasedJob>> claimed(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < claimed.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        auto leased =
            jobs().ClaimJobs({"owner" + std::to_string(t), std::chrono::minutes(1), ids, 4});
        EXPECT_TRUE(leased.ok()) << leased.status();
        if (!leased.ok()) return;
        claimed[t].insert(claimed[t].end(), leased->begin(), leased->end());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> held_jobs;
  std::set<std::string> held_nodes;
  for (const auto& one : claimed) {
    for (const LeasedJob& job : one) {
      EXPECT_TRUE(held_jobs.insert(job.job.job_id).second);
      for (const auto& node : job.node_ids) EXPECT_TRUE(held_nodes.insert(node).second) << node;
    }
  }
  EXPECT_FALSE(held_jobs.empty());
}

TEST_P(JobStoreContract, RenewalExtendsAdoptsAndFences) {
  Connect({"a", "b"});
  Create(MakeCampaign({MakeJob({"a"}), MakeJob({"b"})}));
  const auto leased = Claim({"a", "b"});
  ASSERT_EQ(leased.size(), 2U);
  stores_->ExpireLeases();
  const JobEpoch held{leased[0].job.job_id, leased[0].epoch};
  const auto renewed = jobs().RenewLeases(
      "other", std::chrono::minutes(1),
      {{held, "a"}, {{leased[1].job.job_id, leased[1].epoch + 1}, "b"}, {{NewUuid(), 1}, "a"}});
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  ASSERT_EQ(renewed->size(), 1U);
  EXPECT_EQ(renewed->front().job.job_id, held.job_id);
  EXPECT_EQ(renewed->front().node_ids, leased[0].node_ids);
  EXPECT_EQ(renewed->front().start_time, leased[0].start_time);
  const auto expired = jobs().ListExpired(Duration(0), 10);
  ASSERT_EQ(expired->size(), 1U);
  EXPECT_EQ(expired->front().job.job_id, leased[1].job.job_id);
  EXPECT_TRUE(jobs().ListExpired(Duration(0), 0)->empty());
  EXPECT_TRUE(jobs().ListExpired(std::chrono::hours(2), 10)->empty());
}

TEST_P(JobStoreContract, OnlyNodesOfTheAllocationRenewALease) {
  Connect({"a", "b", "c"});
  Create(MakeCampaign({MakeJob({"a", "b"}, 1, 2)}));
  const auto leased = Claim({"a", "b", "c"});
  ASSERT_EQ(leased.size(), 1U);
  EXPECT_GT(leased[0].start_time, WallTime());
  stores_->ExpireLeases();
  const JobEpoch job{leased[0].job.job_id, leased[0].epoch};
  for (const char* stranger : {"c", "", "{a}"}) {
    const auto refused = jobs().RenewLeases("other", std::chrono::minutes(1), {{job, stranger}});
    ASSERT_TRUE(refused.ok()) << refused.status();
    EXPECT_TRUE(refused->empty()) << stranger;
  }
  EXPECT_EQ(jobs().ListExpired(Duration(0), 10)->size(), 1U);
  const auto renewed =
      jobs().RenewLeases("other", std::chrono::minutes(1), {{job, "b"}, {job, "a"}, {job, "c"}});
  ASSERT_TRUE(renewed.ok()) << renewed.status();
  EXPECT_EQ(renewed->size(), 1U);
  EXPECT_TRUE(jobs().ListExpired(Duration(0), 10)->empty());
}

TEST_P(JobStoreContract, RequeueIncrementsTheEpochAndAvoidsNodes) {
  Connect({"a", "b"});
  Create(MakeCampaign({MakeJob({"a", "b"})}));
  const auto first = Claim({"a", "b"});
  ASSERT_EQ(first.size(), 1U);
  EXPECT_TRUE(Finish(first[0], Disposition::kRequeue, {"a"}).held);
  EXPECT_FALSE(Finish(first[0], Disposition::kSucceeded).held);
  const auto second = Claim({"a", "b"});
  ASSERT_EQ(second.size(), 1U);
  EXPECT_EQ(second[0].epoch, 2);
  EXPECT_EQ(second[0].node_ids, std::vector<std::string>{"b"});
  ASSERT_EQ(second[0].failures.size(), 1U);
  EXPECT_EQ(second[0].failures[0].reason, v1::REASON_RUNNER_CRASHED);
  EXPECT_EQ(second[0].failures[0].failure_class, v1::FAILURE_CLASS_JOB);
  EXPECT_EQ(second[0].failures[0].node_ids, std::vector<std::string>{"a"});
  EXPECT_EQ(second[0].failures[0].node_id, "a");
  EXPECT_EQ(second[0].failures[0].also_node_ids, std::vector<std::string>{"also"});
  // No other candidate: better there than nowhere.
  Finish(second[0], Disposition::kRequeue, {"a", "b"});
  EXPECT_EQ(Claim({"a"}).size(), 1U);
}

TEST_P(JobStoreContract, RequeueOnTheSameNodes_WaitsWhileTheyAreReachable) {
  const std::vector<std::string> nodes = {"a", "b", "c"};
  Connect(nodes);
  Create(MakeCampaign({MakeJob({"b"})}));
  const LeasedJob busy = Claim(nodes).at(0);
  Create(MakeCampaign({MakeJob({"c", "b", "a"})}));
  const auto again = [this](const LeasedJob& job) {
    FinishedAttempt attempt;
    attempt.job = {job.job.job_id, job.epoch};
    attempt.disposition = Disposition::kRequeue;
    attempt.same_nodes = true;
    ASSERT_TRUE(jobs().FinishAttempt(attempt).ok());
  };
  const LeasedJob first = Claim({"a", "b"}).at(0);
  EXPECT_EQ(first.node_ids, std::vector<std::string>{"a"});
  again(first);
  const LeasedJob second = Claim(nodes).at(0);
  EXPECT_EQ(second.node_ids, std::vector<std::string>{"a"});  // Though c comes first.
  again(second);
  Create(MakeCampaign({MakeJob({"a"})}, "urgent", 1));
  const LeasedJob urgent = Claim(nodes).at(0);
  EXPECT_EQ(urgent.node_ids, std::vector<std::string>{"a"});
  EXPECT_TRUE(Claim(nodes).empty());
  // Better elsewhere than nowhere; and the next attempt is free again.
  const LeasedJob third = Claim({"b", "c"}).at(0);
  EXPECT_EQ(third.node_ids, std::vector<std::string>{"c"});
  Finish(urgent, Disposition::kSucceeded);
  Finish(third, Disposition::kRequeue, {"c"});
  EXPECT_EQ(Claim(nodes).at(0).node_ids, std::vector<std::string>{"a"});
  Finish(busy, Disposition::kSucceeded);
}

TEST_P(JobStoreContract, RequeuedJobWaitsItsDelay) {
  Connect({"a"});
  Create(MakeCampaign({MakeJob({"a"})}));
  Finish(Claim({"a"}).at(0), Disposition::kRequeue, {}, std::chrono::hours(1));
  EXPECT_TRUE(Claim({"a"}).empty());
  stores_->Pass(std::chrono::hours(2));
  EXPECT_EQ(Claim({"a"}).size(), 1U);
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
  Connect({"a"});
  Create(MakeCampaign({MakeJob({"a"}), MakeJob({"a"}), MakeJob({"a"})}));
  Finish(Claim({"a"}).at(0), Disposition::kSucceeded);
  Claim({"a"});
  const auto stats = jobs().GetQueueStats();
  EXPECT_EQ(stats->counts.queued(), 1);
  EXPECT_EQ(stats->counts.running(), 1);
  EXPECT_EQ(stats->counts.succeeded(), 1);
  EXPECT_TRUE(stats->oldest_queued.has_value());
}

}  // namespace assay::storage
