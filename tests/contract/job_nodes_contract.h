// The contract of every JobStore for jobs that lack nodes, or may choose from many, and for
// cases that became no job for want of nodes.
#pragma once

#include <gmock/gmock.h>

#include "common/uuid.h"
#include "tests/contract/stores.h"

namespace assay::storage {

class JobNodesContract : public StoreContract {};

TEST_P(JobNodesContract, JobsBehindThoseWithAnAbsentNodeAreClaimed) {
  Connect({"a", "b"});
  const auto pair = [](const std::string& other) {
    NewJob job = MakeJob({"a", other});
    job.node_count = 2;
    return job;
  };
  std::vector<NewJob> all;
  for (int i = 0; i < 40; ++i) all.push_back(pair("gone"));
  all.push_back(pair("b"));
  Create(MakeCampaign(std::move(all)));
  const auto leased = Claim({"a", "b"});
  ASSERT_EQ(leased.size(), 1U);
  EXPECT_EQ(leased[0].node_ids, (std::vector<std::string>{"a", "b"}));
}

TEST_P(JobNodesContract, JobsBehindThoseWithoutAnyNodeAreClaimed) {
  Connect({"a", "b"});
  std::vector<std::string> gone;
  for (int i = 0; i < 500; ++i) gone.push_back(NewUuid());
  const NodeIds candidates = gone;
  std::vector<NewJob> all;
  for (int i = 0; i < 40; ++i) all.push_back(MakeJob(candidates));
  all.push_back(MakeJob({"a", "b"}));
  Create(MakeCampaign(std::move(all)));
  const auto leased = Claim({"a", "b"});
  ASSERT_EQ(leased.size(), 1U);
  EXPECT_EQ(leased[0].node_ids, std::vector<std::string>{"a"});
}

TEST_P(JobNodesContract, JobsBehindManyWithABusyNodeAreClaimed) {
  Connect({"a", "b", "c"});
  Create(MakeCampaign({MakeJob({"a"})}));
  ASSERT_EQ(Claim({"a"}).size(), 1U);
  std::vector<NewJob> all;
  for (int i = 0; i < 100; ++i) all.push_back(MakeJob({"a", "b"}, 1, 2));
  for (int i = 0; i < 300; ++i) all.push_back(MakeJob({"a"}));
  all.push_back(MakeJob({"b", "c"}));
  Create(MakeCampaign(std::move(all)));
  const auto leased = Claim({"a", "b", "c"});
  ASSERT_EQ(leased.size(), 1U);
  EXPECT_EQ(leased[0].node_ids, std::vector<std::string>{"b"});
}

TEST_P(JobNodesContract, JobForManyNodesNamesTheFirstAndCountsTheRest) {
  constexpr int kNodes = 300;
  constexpr int kJobs = 100;
  std::vector<std::string> nodes;
  for (int i = 0; i < kNodes; ++i) nodes.push_back(NewUuid());
  Connect({nodes[0], nodes[1]});
  const NodeIds candidates = nodes;
  std::vector<NewJob> all;
  for (int i = 0; i < kJobs; ++i) all.push_back(MakeJob(candidates));
  const NodeIds gang(std::vector<std::string>(nodes.begin(), nodes.begin() + 20));
  all.push_back(MakeJob(gang, 1, 20));
  const std::string id = Create(MakeCampaign(std::move(all)));

  const auto changes = jobs().ListJobChanges(id, 0);
  ASSERT_TRUE(changes.ok()) << changes.status();
  ASSERT_EQ(changes->jobs.size(), static_cast<size_t>(kJobs + 1));
  size_t bytes = 0;
  for (const v1::Job& job : changes->jobs) bytes += job.ByteSizeLong();
  EXPECT_LT(bytes, 1000U * kJobs) << "each of " << kNodes << " names has 36 bytes";
  const v1::Job& first = changes->jobs[0];
  EXPECT_EQ(first.node_names_size(), kNamedCandidates);
  EXPECT_EQ(first.node_names(0), "name-" + nodes[0]);
  EXPECT_EQ(first.node_names(2), nodes[2]) << "not a node that is known";
  EXPECT_EQ(first.more_node_count(), kNodes - kNamedCandidates);
  EXPECT_EQ(changes->jobs.back().node_names_size(), 20) << "it takes all of them";
  EXPECT_EQ(changes->jobs.back().more_node_count(), 0);

  const auto leased = Claim({nodes[1]});
  ASSERT_EQ(leased.size(), 1U);
  EXPECT_EQ(leased[0].job.candidate_node_ids, candidates);
  ASSERT_TRUE(jobs().CancelCampaign(id).ok());
  const auto listed = jobs().ListJobs(id, {2, ""});
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->items[0].node_names_size(), 1);
  EXPECT_EQ(listed->items[0].node_names(0), "name-" + nodes[1]);
  EXPECT_EQ(listed->items[0].more_node_count(), 0);
  EXPECT_EQ(listed->items[1].node_names_size(), kNamedCandidates) << "it never had one";
}

TEST_P(JobNodesContract, LeftOutEntriesAreStoredWithTheCampaign) {
  NewCampaign campaign = MakeCampaign({MakeJob({"a"})});
  v1::LeftOut& left_out = *campaign.spec.add_left_out();
  left_out.set_benchmark_index(1);
  left_out.set_benchmark("all_reduce");
  left_out.set_line(9);
  left_out.set_ranks(8);
  left_out.set_nodes(2);
  left_out.set_case_count(6);
  left_out.set_reason("too few GPUs");
  const std::string id = Create(campaign);
  // Sent again, to a fleet that could take it by now or could take less.
  NewCampaign again = campaign;
  again.campaign_id = NewUuid();
  again.spec.clear_left_out();
  EXPECT_EQ(Create(again), id);
  ASSERT_TRUE(jobs().SetVerdict(id, v1::VERDICT_PASSED, {}).ok());

  const v1::Campaign stored = Campaign(id);
  ASSERT_EQ(stored.left_out_size(), 1);
  EXPECT_EQ(stored.left_out(0).SerializeAsString(), left_out.SerializeAsString());
  EXPECT_EQ(stored.spec().left_out_size(), 0);
  const auto listed = jobs().ListCampaigns({});
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->items[0].left_out_size(), 1);
}

TEST_P(JobNodesContract, ListWaiting_GroupsJobsByAbsentNodes) {
  const JobStore::Silence silence{std::chrono::seconds(10), std::chrono::seconds(30)};
  Connect({"a", "b", "c"});
  NewJob pair = MakeJob({"a", "b", "c"});
  pair.node_count = 2;
  const std::string id =
      Create(MakeCampaign({MakeJob({"a"}), MakeJob({"b"}), MakeJob({"b"}), pair}));
  const auto waiting = [&] {
    std::vector<std::string> all;
    const auto listed = jobs().ListWaiting(id, silence);
    EXPECT_TRUE(listed.ok()) << listed.status();
    if (!listed.ok()) return all;
    for (const v1::WaitingJobs& one : *listed) {
      std::string text = std::to_string(one.jobs()) + ": " + std::to_string(one.needed()) + " of";
      for (const v1::AbsentNode& node : one.nodes()) {
        text += " " + node.name() + (node.has_last_heartbeat_time() ? "" : " (removed)");
      }
      all.push_back(text);
    }
    return all;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(waiting(), Texts{});
  ASSERT_TRUE(nodes().Disconnect("owner", "b").ok());
  EXPECT_EQ(waiting(), Texts{}) << "within the grace";
  stores_->Pass(std::chrono::seconds(20));
  EXPECT_EQ(waiting(), Texts{"2: 1 of name-b"}) << "the others are in session still";
  ASSERT_TRUE(nodes().Heartbeat("owner", {"a"}).ok());
  stores_->Pass(std::chrono::seconds(20));
  EXPECT_EQ(waiting(), (Texts{"2: 1 of name-b", "1: 1 of name-b name-c"}));
  EXPECT_TRUE(jobs().ListWaiting(id, {Duration::max(), Duration::max()})->empty());
  ASSERT_TRUE(nodes().RemoveNode("b").ok());
  EXPECT_EQ(waiting(), (Texts{"2: 1 of b (removed)", "1: 1 of b (removed) name-c"}));
  Connect({"a", "b", "c"});
  EXPECT_EQ(waiting(), Texts{});
  EXPECT_TRUE(jobs().ListWaiting("nothing", silence)->empty());
}

TEST_P(JobNodesContract, ListWaiting_CountsJobsOfEveryRepetition) {
  std::vector<NewJob> all;
  for (int repetition = 1; repetition <= 3; ++repetition) {
    for (const std::vector<std::string>& nodes : {std::vector<std::string>{"a", "b"}, {"b"}}) {
      all.push_back(MakeJob(nodes));
      all.back().repetition = repetition;
      all.back().node_count = static_cast<int>(nodes.size());
    }
  }
  Connect({"a", "b"});
  const std::string id = Create(MakeCampaign(std::move(all)));
  for (int i = 0; i < 2; ++i) Finish(Claim({"a", "b"}).at(0), Disposition::kSucceeded);
  ASSERT_TRUE(nodes().RemoveNode("b").ok());
  const auto waiting = jobs().ListWaiting(id, {std::chrono::hours(1), std::chrono::hours(1)});
  ASSERT_TRUE(waiting.ok()) << waiting.status();
  ASSERT_EQ(waiting->size(), 1U);
  EXPECT_EQ(waiting->front().jobs(), 4);
  EXPECT_EQ(waiting->front().nodes(0).name(), "b");
}

}  // namespace assay::storage
