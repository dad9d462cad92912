// The contract of every NodeStore.
#pragma once

#include "tests/contract/stores.h"
#include "wire/benchmark_schema.h"

namespace assay::storage {

class NodeStoreContract : public StoreContract {};

TEST_P(NodeStoreContract, ConnectedNodeIsListedWithItsDescription) {
  v1::NodeDescription node = MakeNode("id-b", "b");
  (*node.mutable_labels())["rack"] = std::string("7\0'x", 4);
  ASSERT_TRUE(nodes().Connect("owner", node, "10.0.0.7:7901", kStale).ok());
  ASSERT_TRUE(nodes().Connect("owner", MakeNode("id-a", "a"), "", kStale).ok());
  const auto list = nodes().ListNodes(kStale, NodeStore::Benchmarks::kYes);
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ((*list)[0].description().name(), "a");
  EXPECT_EQ((*list)[1].description().labels().at("rack"), node.labels().at("rack"));
  EXPECT_EQ((*list)[1].dial_address(), "10.0.0.7:7901");
  EXPECT_EQ((*list)[1].state(), v1::NODE_STATE_CONNECTED);
  EXPECT_EQ(nodes().GetNode("b", kStale)->description().node_id(), "id-b");
  EXPECT_EQ(nodes().GetNode("id-b", kStale)->description().name(), "b");
  EXPECT_EQ(nodes().GetNode("none", kStale).status().code(), Code::kNotFound);
}

TEST_P(NodeStoreContract, ListNodesAfter_ContinuesAfterAName) {
  for (const char* name : {"b", "B", "a", "a-1", "a1"}) {
    ASSERT_TRUE(nodes().Connect("owner", MakeNode(name, name), "", kStale).ok());
  }
  std::vector<std::string> listed;
  for (const size_t expected : {2U, 2U, 1U, 0U}) {
    const auto some = nodes().ListNodesAfter(listed.empty() ? "" : listed.back(), 2, kStale,
                                             NodeStore::Benchmarks::kNo);
    ASSERT_TRUE(some.ok()) << some.status();
    EXPECT_EQ(some->size(), expected);
    for (const v1::Node& node : *some) listed.push_back(node.description().name());
  }
  EXPECT_EQ(listed, (std::vector<std::string>{"B", "a", "a-1", "a1", "b"}));
}

TEST_P(NodeStoreContract, UnknownNameHintsAtTheClosestNode) {
  Connect({"a", "rack7"});
  const Status mistyped = nodes().GetNode("name-rak7", kStale).status();
  EXPECT_EQ(mistyped.hint(), "did you mean \"name-rack7\"?");
  EXPECT_EQ(nodes().RemoveNode("name-rak7").hint(), mistyped.hint());
  EXPECT_EQ(nodes().GetNode("other", kStale).status().hint(), "");
}

TEST_P(NodeStoreContract, OnlyItsOwnerDisconnectsANode) {
  Connect({"a"});
  ASSERT_TRUE(nodes().Disconnect("other", "a").ok());
  EXPECT_EQ(nodes().GetNode("a", kStale)->state(), v1::NODE_STATE_CONNECTED);
  ASSERT_TRUE(nodes().Disconnect("owner", "a").ok());
  EXPECT_EQ(nodes().GetNode("a", kStale)->state(), v1::NODE_STATE_DISCONNECTED);
}

TEST_P(NodeStoreContract, IsElsewhere_TrueForASessionOfAnotherOwner) {
  const auto elsewhere = [this](const std::string& owner, const std::string& node_id) {
    const Result<bool> asked = nodes().IsElsewhere(owner, node_id, kStale);
    EXPECT_TRUE(asked.ok()) << asked.status();
    return asked.ok() && *asked;
  };
  EXPECT_FALSE(elsewhere("other", "a")) << "there is none";
  Connect({"a"});
  EXPECT_TRUE(elsewhere("other", "a"));
  EXPECT_FALSE(elsewhere("owner", "a"));
  stores_->Pass(2 * kStale);
  EXPECT_FALSE(elsewhere("other", "a")) << "it is silent";
  ASSERT_TRUE(nodes().Heartbeat("owner", {"a"}).ok());
  EXPECT_TRUE(elsewhere("other", "a"));
  ASSERT_TRUE(nodes().Disconnect("owner", "a").ok());
  EXPECT_FALSE(elsewhere("other", "a"));
}

TEST_P(NodeStoreContract, SilentNodeCountsAsDisconnectedUntilItsNextHeartbeat) {
  Connect({"a", "b"});
  stores_->Pass(2 * kStale);
  ASSERT_TRUE(nodes().Heartbeat("owner", {"a", "unknown"}).ok());
  ASSERT_TRUE(nodes().Heartbeat("other", {"b"}).ok());
  EXPECT_EQ(nodes().GetNode("a", kStale)->state(), v1::NODE_STATE_CONNECTED);
  EXPECT_EQ(nodes().GetNode("b", kStale)->state(), v1::NODE_STATE_DISCONNECTED);
}

TEST_P(NodeStoreContract, SimulatedNodesAreCountedByState) {
  for (const char* id : {"real", "simulated", "simulated-gone"}) {
    v1::NodeDescription node = MakeNode(id, id);
    node.mutable_inventory()->set_simulated(std::string_view(id) != "real");
    ASSERT_TRUE(nodes().Connect("owner", node, "", kStale).ok());
  }
  ASSERT_TRUE(nodes().Disconnect("owner", "simulated-gone").ok());
  const auto counts = nodes().CountNodes(kStale);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->connected, 2);
  EXPECT_EQ(counts->disconnected, 1);
  EXPECT_EQ(counts->simulated_connected, 1);
  EXPECT_EQ(counts->simulated_disconnected, 1);
}

TEST_P(NodeStoreContract, TwoConnectedNodesCannotShareAName) {
  ASSERT_TRUE(nodes().Connect("owner", MakeNode("1", "n"), "", kStale).ok());
  EXPECT_EQ(nodes().Connect("owner", MakeNode("2", "n"), "", kStale).code(), Code::kAlreadyExists);
  ASSERT_TRUE(nodes().Connect("owner", MakeNode("1", "n"), "", kStale).ok());
  for (const char* id : {"1", "2", "3"}) {
    ASSERT_TRUE(nodes().Disconnect("owner", id).ok());
    const Status status = nodes().Connect("owner", MakeNode(id, "n"), "", kStale);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(nodes().Disconnect("owner", id).ok());
  }
  EXPECT_EQ(nodes().GetNode("n", kStale)->description().node_id(), "3");
  EXPECT_EQ(nodes().GetNode("n (old)", kStale)->description().node_id(), "1");
  const auto bare = nodes().ListNodes(kStale, NodeStore::Benchmarks::kNo);
  ASSERT_EQ(bare->size(), 3U);
  for (const v1::Node& node : *bare) EXPECT_TRUE(node.description().benchmarks().empty());
  const auto counts = nodes().CountNodes(kStale);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->connected + counts->disconnected, 3);
}

TEST_P(NodeStoreContract, SilentNodeGivesUpItsName) {
  ASSERT_TRUE(nodes().Connect("dead", MakeNode("1", "n"), "", kStale).ok());
  EXPECT_EQ(nodes().Connect("owner", MakeNode("2", "n"), "", kStale).reason(),
            Reason::kNodeNameTaken);
  stores_->Pass(2 * kStale);
  const Status taken = nodes().Connect("owner", MakeNode("2", "n"), "", kStale);
  ASSERT_TRUE(taken.ok()) << taken;
  EXPECT_EQ(nodes().GetNode("n", kStale)->description().node_id(), "2");
  EXPECT_EQ(nodes().GetNode("n (old)", kStale)->description().node_id(), "1");
  EXPECT_EQ(nodes().Connect("owner", MakeNode("1", "n"), "", kStale).reason(),
            Reason::kNodeNameTaken);
}

TEST_P(NodeStoreContract, SchemasAreFoundByTheirHash) {
  const auto with_benchmarks = [](const std::string& id, const std::vector<std::string>& names) {
    v1::NodeDescription node = MakeNode(id, id);
    for (const std::string& name : names) node.add_benchmarks()->set_name(name);
    return node;
  };
  for (const auto& node : {with_benchmarks("a", {"gemm", "triad"}),
                           with_benchmarks("b", {"gemm", "triad"}), with_benchmarks("c", {})}) {
    ASSERT_TRUE(nodes().Connect("owner", node, "", kStale).ok());
  }
  const auto list = nodes().ListNodes(kStale, NodeStore::Benchmarks::kYes);
  ASSERT_TRUE(list.ok()) << list.status();
  EXPECT_EQ(list->at(0).description().benchmarks_size(), 2);
  EXPECT_EQ(list->at(1).description().benchmarks(1).name(), "triad");
  EXPECT_EQ(list->at(2).description().benchmarks_size(), 0);
  v1::Schemas schemas;
  *schemas.mutable_benchmarks() = list->at(0).description().benchmarks();
  const auto found = nodes().GetSchemas(schema::SchemasHash(schemas));
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(*found);
  EXPECT_EQ((*found)->SerializeAsString(), schemas.SerializeAsString());
  EXPECT_FALSE(*nodes().GetSchemas("unknown"));

  ASSERT_TRUE(nodes().Connect("owner", with_benchmarks("a", {"copy"}), "", kStale).ok());
  EXPECT_EQ(nodes().GetNode("a", kStale)->description().benchmarks(0).name(), "copy");
  EXPECT_EQ(nodes().GetNode("b", kStale)->description().benchmarks_size(), 2);
}

TEST_P(NodeStoreContract, BusyNodeListsItsJobsAndCannotBeRemoved) {
  Connect({"a"});
  Create(MakeCampaign({MakeJob({"a"})}));
  const auto leased = Claim({"a"});
  ASSERT_EQ(leased.size(), 1U);
  const auto node = nodes().GetNode("a", kStale);
  ASSERT_EQ(node->job_ids_size(), 1);
  EXPECT_EQ(node->job_ids(0), leased[0].job.job_id);
  EXPECT_EQ(nodes().RemoveNode("a").code(), Code::kFailedPrecondition);
  Finish(leased[0], Disposition::kSucceeded);
  EXPECT_EQ(nodes().GetNode("a", kStale)->job_ids_size(), 0);
  EXPECT_TRUE(nodes().RemoveNode("name-a").ok());
  EXPECT_EQ(nodes().RemoveNode("a").code(), Code::kNotFound);
}

TEST_P(NodeStoreContract, DialAddressIsRemovedWithItsNode) {
  ASSERT_TRUE(nodes().AddDialAddress("h:2").ok());
  ASSERT_TRUE(nodes().AddDialAddress("h:1").ok());
  ASSERT_TRUE(nodes().AddDialAddress("h:1").ok());
  EXPECT_EQ(*nodes().ListDialAddresses(), (std::vector<std::string>{"h:1", "h:2"}));
  ASSERT_TRUE(nodes().Connect("owner", MakeNode("a", "a"), "h:1", kStale).ok());
  ASSERT_TRUE(nodes().RemoveNode("a").ok());
  EXPECT_EQ(*nodes().ListDialAddresses(), std::vector<std::string>{"h:2"});
}

}  // namespace assay::storage
