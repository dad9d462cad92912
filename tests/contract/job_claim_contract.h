// The contract of every JobStore: claims, leases and requeued jobs.
#pragma once

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "common/uuid.h"
#include "tests/contract/stores.h"

namespace assay::storage {

class JobClaimContract : public StoreContract {};

TEST_P(JobClaimContract, ClaimReturnsTheJobAsStored) {
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

TEST_P(JobClaimContract, ClaimsByPriorityThenFairnessThenAge) {
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

TEST_P(JobClaimContract, ExclusiveNodeHoldsTheWholeNode) {
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

TEST_P(JobClaimContract, ExclusiveGpuHoldsOnlyItsGpus) {
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

TEST_P(JobClaimContract, GangTakesAllItsNodesOrNone) {
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

TEST_P(JobClaimContract, SmallJobsDoNotStarveAGang) {
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

TEST_P(JobClaimContract, WaitingJobReservesOnlyTheNodesItNeeds) {
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

TEST_P(JobClaimContract, JobsBehindABusyHeadAreClaimed) {
  Connect({"a", "b"});
  std::vector<NewJob> list;
  for (int i = 0; i < 40; ++i) list.push_back(MakeJob({"a"}));
  list.push_back(MakeJob({"b"}));
  Create(MakeCampaign(list));
  const auto leased = Claim({"a", "b"}, 2);
  ASSERT_EQ(leased.size(), 2U);
  EXPECT_EQ(leased[1].job.job_id, list.back().job_id);
}

TEST_P(JobClaimContract, ConcurrentClaimersNeverShareAJobOrANode) {
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

TEST_P(JobClaimContract, RenewalExtendsAdoptsAndFences) {
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

TEST_P(JobClaimContract, OnlyNodesOfTheAllocationRenewALease) {
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

TEST_P(JobClaimContract, RequeueIncrementsTheEpochAndAvoidsNodes) {
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

TEST_P(JobClaimContract, RequeueOnTheSameNodes_WaitsWhileTheyAreReachable) {
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

TEST_P(JobClaimContract, RequeuedJobWaitsItsDelay) {
  Connect({"a"});
  Create(MakeCampaign({MakeJob({"a"})}));
  Finish(Claim({"a"}).at(0), Disposition::kRequeue, {}, std::chrono::hours(1));
  EXPECT_TRUE(Claim({"a"}).empty());
  stores_->Pass(std::chrono::hours(2));
  EXPECT_EQ(Claim({"a"}).size(), 1U);
}

}  // namespace assay::storage
