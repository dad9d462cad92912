// The contract of every FleetStore, and of terms in the JobStore.
#pragma once

#include <set>
#include <thread>

#include "tests/contract/stores.h"

namespace assay::storage {

class FleetStoreContract : public StoreContract {
 protected:
  Leader Elect(const std::string& owner) {
    const auto leader = fleet().Elect(owner, owner + ":7900", std::chrono::minutes(1));
    EXPECT_TRUE(leader.ok()) << leader.status();
    return leader.ok() ? *leader : Leader{};
  }
};

TEST_P(FleetStoreContract, FleetIdNeverChanges) {
  const auto id = fleet().GetFleetId();
  ASSERT_TRUE(id.ok()) << id.status();
  EXPECT_TRUE(IsUuid(*id)) << *id;
  EXPECT_EQ(*fleet().GetFleetId(), *id);
}

TEST_P(FleetStoreContract, LeaderKeepsItsTermUntilItsLeaseExpires) {
  const Leader first = Elect("a");
  EXPECT_EQ(first.owner, "a");
  EXPECT_EQ(first.address, "a:7900");
  EXPECT_GT(first.term, 0);
  const Leader seen = Elect("b");
  EXPECT_EQ(seen.owner, "a");
  EXPECT_EQ(seen.address, "a:7900");
  EXPECT_EQ(seen.term, first.term);
  EXPECT_EQ(Elect("a").term, first.term);
  stores_->ExpireLeases();
  EXPECT_EQ(Elect("a").term, first.term) << "nobody else was elected meanwhile";
  stores_->ExpireLeases();
  const Leader second = Elect("b");
  EXPECT_EQ(second.owner, "b");
  EXPECT_EQ(second.term, first.term + 1);
  EXPECT_EQ(Elect("a").owner, "b");
}

TEST_P(FleetStoreContract, ResignedLeaderIsReplacedAtOnce) {
  const Leader first = Elect("a");
  ASSERT_TRUE(fleet().Resign("b").ok());
  EXPECT_EQ(Elect("b").owner, "a") << "only the leader can resign";
  ASSERT_TRUE(fleet().Resign("a").ok());
  const Leader second = Elect("b");
  EXPECT_EQ(second.owner, "b");
  EXPECT_EQ(second.term, first.term + 1);
}

TEST_P(FleetStoreContract, ConcurrentCandidatesElectOne) {
  std::vector<Leader> seen(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&, i] { seen[i] = Elect("owner-" + std::to_string(i)); });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::pair<std::string, int64_t>> leaders;
  for (const Leader& leader : seen) leaders.emplace(leader.owner, leader.term);
  EXPECT_EQ(leaders.size(), 1U);
}

TEST_P(FleetStoreContract, StatementsOfAnEarlierTermChangeNothing) {
  Connect({"a", "b"});
  Create(MakeCampaign({MakeJob({"a"}), MakeJob({"b"})}));
  JobStore::ClaimRequest request{"a", std::chrono::minutes(1), {"a", "b"}, 1};
  request.term = Elect("a").term;
  const auto claimed = jobs().ClaimJobs(request);
  ASSERT_TRUE(claimed.ok()) << claimed.status();
  ASSERT_EQ(claimed->size(), 1U);
  stores_->ExpireLeases();
  const int64_t now = Elect("b").term;

  const auto fenced = jobs().ClaimJobs(request);
  ASSERT_TRUE(fenced.ok()) << fenced.status();
  EXPECT_TRUE(fenced->empty());
  FinishedAttempt ended;
  ended.job = {claimed->at(0).job.job_id, claimed->at(0).epoch};
  ended.term = request.term;
  EXPECT_FALSE(jobs().FinishAttempt(ended)->held);
  ended.term = now;
  EXPECT_TRUE(jobs().FinishAttempt(ended)->held);
  request.term = now;
  EXPECT_EQ(jobs().ClaimJobs(request)->size(), 1U);
}

}  // namespace assay::storage
