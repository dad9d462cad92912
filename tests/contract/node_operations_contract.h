// The contract of every NodeStore and JobStore for what operators do to nodes: cordons, drains,
// labels and prices.
#pragma once

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/contract/stores.h"
#include "wire/timestamps.h"

namespace assay::storage {

class NodeOperationsContract : public StoreContract {
 protected:
  using Texts = std::vector<std::string>;

  void Cordon(const std::string& node, const std::string& reason = "",
              std::optional<Duration> drain = std::nullopt, const std::string& by = "ada") {
    const Status status = nodes().Cordon({node, reason, by, drain});
    ASSERT_TRUE(status.ok()) << status;
  }
  v1::Node Node(const std::string& id) {
    const auto node = nodes().GetNode(id, kStale);
    EXPECT_TRUE(node.ok()) << node.status();
    return node.ok() ? *node : v1::Node();
  }
  // Changes labels: "rack=7" sets one, "rack-" removes one.
  Status Label(const std::string& node, const Texts& changes) {
    v1::UpdateNodeRequest request;
    request.set_node(node);
    for (const std::string& change : changes) {
      const size_t equals = change.find('=');
      if (equals == std::string::npos) {
        request.add_removed_labels(change.substr(0, change.size() - 1));
      } else {
        (*request.mutable_labels())[change.substr(0, equals)] = change.substr(equals + 1);
      }
    }
    return nodes().Update(request);
  }
  Status Price(const std::string& node, double price) {
    v1::UpdateNodeRequest request;
    request.set_node(node);
    request.set_price_per_hour(price);
    return nodes().Update(request);
  }
  Status ConnectWithLabels(const std::string& id, const std::map<std::string, std::string>& labels,
                           std::optional<double> price = std::nullopt) {
    v1::NodeDescription node = MakeNode(id, "name-" + id);
    node.mutable_labels()->insert(labels.begin(), labels.end());
    if (price) node.set_price_per_hour(*price);
    return nodes().Connect("owner", node, "", kStale);
  }
  std::map<std::string, std::string> LabelsOf(const std::string& id) {
    const v1::Node node = Node(id);
    const auto& labels = node.description().labels();
    return {labels.begin(), labels.end()};
  }
  using Labels = std::map<std::string, std::string>;
};

TEST_P(NodeOperationsContract, CordonedNodeGetsNoJobsUntilItIsUncordoned) {
  Connect({"a", "b"});
  Create(MakeCampaign({MakeJob({"a"}), MakeJob({"a"}), MakeJob({"a", "b"}), MakeJob({"a", "b"})}));
  ASSERT_EQ(Claim({"a"}).size(), 1U);
  Cordon("name-a", "new PSU");
  const auto leased = Claim({"a", "b"});
  ASSERT_EQ(leased.size(), 1U);
  EXPECT_EQ(leased[0].node_ids, Texts{"b"});
  ASSERT_TRUE(nodes().Uncordon("a").ok());
  EXPECT_FALSE(Node("a").has_cordon());
  Finish(leased[0], Disposition::kSucceeded);
  EXPECT_EQ(Claim({"a", "b"}).size(), 1U) << "b alone is free";
  EXPECT_TRUE(nodes().Uncordon("a").ok());
  EXPECT_EQ(nodes().Uncordon("none").code(), Code::kNotFound);
  EXPECT_EQ(nodes().Cordon({"none", "", "", std::nullopt}).code(), Code::kNotFound);
}

TEST_P(NodeOperationsContract, RunningJobsOfACordonedNodeKeepTheirLease) {
  Connect({"a"});
  Create(MakeCampaign({MakeJob({"a"})}));
  const LeasedJob job = Claim({"a"}).at(0);
  Cordon("a");
  const auto held =
      jobs().RenewLeases("owner", std::chrono::minutes(1), {{{job.job.job_id, job.epoch}, "a"}});
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(held->size(), 1U);
  EXPECT_TRUE(jobs().ListDrained(10)->empty());
}

TEST_P(NodeOperationsContract, FurtherCordonKeepsTheTime) {
  Connect({"a"});
  Cordon("a", "new PSU", std::nullopt, "ada");
  const v1::Cordon first = Node("a").cordon();
  EXPECT_EQ(first.reason(), "new PSU");
  EXPECT_EQ(first.cordoned_by(), "ada");
  EXPECT_TRUE(first.has_time());
  EXPECT_FALSE(first.has_drain_deadline());
  Cordon("a", "", std::chrono::minutes(30), "bob");
  const v1::Cordon drain = Node("a").cordon();
  EXPECT_EQ(drain.time().SerializeAsString(), first.time().SerializeAsString());
  EXPECT_EQ(drain.reason(), "new PSU");
  EXPECT_EQ(drain.cordoned_by(), "ada") << "the reason is hers";
  const auto in =
      schema::FromTimestamp(drain.drain_deadline()) - schema::FromTimestamp(first.time());
  EXPECT_GE(in, std::chrono::minutes(30));
  ASSERT_TRUE(nodes().Cordon({"a", "", "bob", std::chrono::hours(2), true}).ok());
  EXPECT_EQ(Node("a").cordon().drain_deadline().SerializeAsString(),
            drain.drain_deadline().SerializeAsString());
  Cordon("a", "back to the vendor", std::nullopt, "");
  const v1::Cordon last = Node("a").cordon();
  EXPECT_EQ(last.reason(), "back to the vendor");
  EXPECT_EQ(last.cordoned_by(), "");
  EXPECT_FALSE(last.has_drain_deadline());
}

TEST_P(NodeOperationsContract, ListDrained_ReturnsJobsOfNodesPastTheirDeadline) {
  Connect({"a", "b", "c"});
  NewJob gang = MakeJob({"a", "b"}, 1, 2);
  Create(MakeCampaign({gang, MakeJob({"c"})}));
  const auto leased = Claim({"a", "b", "c"});
  ASSERT_EQ(leased.size(), 2U);
  Cordon("c", "", std::chrono::hours(1));
  EXPECT_TRUE(jobs().ListDrained(10)->empty());
  Cordon("b", "", Duration(0));
  Cordon("a", "", Duration(0));
  const auto drained = jobs().ListDrained(10);
  ASSERT_TRUE(drained.ok()) << drained.status();
  ASSERT_EQ(drained->size(), 1U);
  EXPECT_EQ(drained->at(0).job.job.job_id, gang.job_id);
  EXPECT_EQ(drained->at(0).node_names, (Texts{"name-a", "name-b"}));
  Cordon("c", "", Duration(0));
  EXPECT_EQ(jobs().ListDrained(10)->size(), 2U);
  EXPECT_EQ(jobs().ListDrained(1)->size(), 1U);
  Finish(drained->at(0).job, Disposition::kRequeue);
  EXPECT_EQ(jobs().ListDrained(10)->size(), 1U);
  EXPECT_TRUE(Claim({"a", "b", "c"}).empty());
}

TEST_P(NodeOperationsContract, Waiting_NamesCordonedNodes) {
  Connect({"a", "b"});
  const std::string campaign = Create(MakeCampaign({MakeJob({"a"}), MakeJob({"a", "b"})}));
  Cordon("a", "new PSU");
  const JobStore::Silence silence{std::chrono::minutes(1), std::chrono::minutes(1)};
  const auto waiting = jobs().ListWaiting(campaign, silence);
  ASSERT_TRUE(waiting.ok()) << waiting.status();
  ASSERT_EQ(waiting->size(), 1U) << "the other job has node b";
  EXPECT_EQ(waiting->at(0).nodes(0).name(), "name-a");
  EXPECT_EQ(waiting->at(0).nodes(0).cordon().SerializeAsString(),
            Node("a").cordon().SerializeAsString());
  ASSERT_TRUE(nodes().Uncordon("a").ok());
  EXPECT_TRUE(jobs().ListWaiting(campaign, silence)->empty());
}

TEST_P(NodeOperationsContract, LabelsAndPriceReplaceTheAgents) {
  ASSERT_TRUE(ConnectWithLabels("a", {{"rack", "7"}, {"row", "2"}}, 3.5).ok());
  Connect({"b"});
  EXPECT_TRUE(nodes().ListSettings()->empty());
  ASSERT_TRUE(Label("name-a", {"rack=9", "zone=x y", "row-"}).ok());
  EXPECT_EQ(LabelsOf("a"), (Labels{{"rack", "9"}, {"zone", "x y"}}));
  EXPECT_EQ(Node("a").description().price_per_hour(), 3.5);
  ASSERT_TRUE(Price("a", 0).ok());
  EXPECT_EQ(Node("a").description().price_per_hour(), 0);
  EXPECT_TRUE(Node("a").description().has_price_per_hour());
  EXPECT_THAT(Node("a").settings().removed_labels(), ::testing::ElementsAre("row"));
  EXPECT_EQ(Node("a").settings().labels_size(), 2);
  EXPECT_FALSE(Node("b").has_settings());
  const auto settings = nodes().ListSettings();
  ASSERT_TRUE(settings.ok()) << settings.status();
  ASSERT_EQ(settings->size(), 1U);
  EXPECT_EQ(settings->at("a").labels().at("zone"), "x y");
  EXPECT_EQ(settings->at("a").price_per_hour(), 0);
  const auto listed = nodes().ListNodes(kStale, NodeStore::Benchmarks::kNo);
  EXPECT_EQ(listed->at(0).description().labels().at("rack"), "9");
  EXPECT_EQ(Label("none", {"a=b"}).code(), Code::kNotFound);
}

TEST_P(NodeOperationsContract, SettingsAndCordonOutliveSessions) {
  ASSERT_TRUE(ConnectWithLabels("a", {{"rack", "7"}, {"row", "2"}}).ok());
  ASSERT_TRUE(Label("a", {"rack=9", "row-"}).ok());
  Cordon("a", "new PSU");
  ASSERT_TRUE(nodes().Disconnect("owner", "a").ok());
  ASSERT_TRUE(ConnectWithLabels("a", {{"rack", "7"}, {"row", "2"}}).ok());
  EXPECT_EQ(LabelsOf("a"), (Labels{{"rack", "9"}}));
  EXPECT_EQ(Node("a").cordon().reason(), "new PSU");
  // The agent was started with other labels.
  ASSERT_TRUE(ConnectWithLabels("a", {{"Rack", "8"}, {"hall", "1"}}).ok());
  EXPECT_EQ(LabelsOf("a"), (Labels{{"rack", "9"}, {"hall", "1"}}));
  ASSERT_TRUE(nodes().Disconnect("owner", "a").ok());
  ASSERT_TRUE(nodes().Connect("owner", MakeNode("other", "name-a"), "", kStale).ok());
  EXPECT_EQ(Node("a").description().name(), "name-a (old)");
  EXPECT_EQ(Node("a").cordon().reason(), "new PSU");
  EXPECT_FALSE(Node("other").has_cordon());
  ASSERT_TRUE(nodes().RemoveNode("a").ok());
  EXPECT_TRUE(nodes().ListSettings()->empty());
}

TEST_P(NodeOperationsContract, RemovedLabelCanBeSetAgain) {
  ASSERT_TRUE(ConnectWithLabels("a", {{"rack", "7"}}).ok());
  ASSERT_TRUE(Label("a", {"zone=1"}).ok());
  ASSERT_TRUE(Label("a", {"rack-", "zone-", "unknown-"}).ok());
  EXPECT_EQ(LabelsOf("a"), Labels{});
  EXPECT_THAT(Node("a").settings().removed_labels(), ::testing::ElementsAre("rack"));
  ASSERT_TRUE(Label("a", {"rack=8"}).ok());
  EXPECT_EQ(LabelsOf("a"), (Labels{{"rack", "8"}}));
  EXPECT_TRUE(Node("a").settings().removed_labels().empty());
}

TEST_P(NodeOperationsContract, WrongSettingsChangeNothing) {
  ASSERT_TRUE(ConnectWithLabels("a", {{"Rack", "7"}}).ok());
  const Status same = Label("a", {"rack=8"});
  EXPECT_EQ(same.code(), Code::kInvalidArgument);
  EXPECT_THAT(same.message(), ::testing::HasSubstr("Rack"));
  EXPECT_EQ(Label("a", {"rack-"}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Label("a", {"zone=1", "Zone=1"}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Label("a", {"=1"}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Label("a", {"a b=1"}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Label("a", {"a=" + std::string(257, 'x')}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Label("a", {"a=" + std::string(1, '\0')}).code(), Code::kInvalidArgument);
  EXPECT_EQ(Label("a", {"a=1", "a-"}).code(), Code::kInvalidArgument);
  Texts many;
  for (int i = 0; i < 64; ++i) many.push_back("key" + std::to_string(i) + "=1");
  EXPECT_EQ(Label("a", many).code(), Code::kInvalidArgument) << "65 labels";
  for (const double price : {-0.01, 1.1e6, std::nan(""), HUGE_VAL}) {
    EXPECT_EQ(Price("a", price).code(), Code::kInvalidArgument) << price;
  }
  EXPECT_EQ(LabelsOf("a"), (Labels{{"Rack", "7"}}));
  EXPECT_FALSE(Node("a").has_settings());
  EXPECT_TRUE(Label("a", {"Rack-", "rack=8"}).ok());
  EXPECT_EQ(LabelsOf("a"), (Labels{{"rack", "8"}}));
}

TEST_P(NodeOperationsContract, CordonedNodesAreCounted) {
  for (const char* id : {"real", "simulated", "gone", "free"}) {
    v1::NodeDescription node = MakeNode(id, id);
    node.mutable_inventory()->set_simulated(std::string_view(id) == "simulated");
    ASSERT_TRUE(nodes().Connect("owner", node, "", kStale).ok());
    if (std::string_view(id) != "free") Cordon(id);
  }
  ASSERT_TRUE(nodes().Disconnect("owner", "gone").ok());
  const auto counts = nodes().CountNodes(kStale);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->cordoned, 3);
  EXPECT_EQ(counts->simulated_cordoned, 1);
  EXPECT_EQ(counts->cordoned_disconnected, 1);
  EXPECT_EQ(counts->simulated_cordoned_disconnected, 0);
}

}  // namespace assay::storage
