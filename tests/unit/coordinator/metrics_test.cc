// The coordinator's gauges, as they are exported.
#include "coordinator/metrics/metrics.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using namespace std::chrono_literals;

bool Exports(const Metrics& metrics, const std::string& line) {
  std::ostringstream text;
  text << "\n";
  prometheus::TextSerializer().Serialize(text, metrics.collectable()->Collect());
  return text.str().find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, SimulatedNodesAreCountedApart) {
  Metrics metrics;
  metrics.SetNodes({5, 2, 0, 0});
  EXPECT_TRUE(Exports(metrics, R"(assay_agents{state="connected"} 5)"));
  EXPECT_FALSE(Exports(metrics, R"(assay_agents{simulated="true",state="connected"} 0)"));
  metrics.SetNodes({5, 2, 4, 1});
  EXPECT_TRUE(Exports(metrics, R"(assay_agents{state="connected"} 1)"));
  EXPECT_TRUE(Exports(metrics, R"(assay_agents{state="disconnected"} 1)"));
  EXPECT_TRUE(Exports(metrics, R"(assay_agents{simulated="true",state="connected"} 4)"));
  metrics.SetNodes({5, 2, 0, 0});
  EXPECT_TRUE(Exports(metrics, R"(assay_agents{simulated="true",state="connected"} 0)"));
}

TEST(Metrics, RunsOfSchedulesAreCounted) {
  Metrics metrics;
  EXPECT_TRUE(Exports(metrics, R"(assay_schedule_runs_total{outcome="failed"} 0)"));
  metrics.ScheduleRan("failed");
  EXPECT_TRUE(Exports(metrics, R"(assay_schedule_runs_total{outcome="failed"} 1)"));
  EXPECT_TRUE(Exports(metrics, R"(assay_schedule_runs_total{outcome="created"} 0)"));
}

TEST(Metrics, DisconnectedNodesThatAreCordoned_AreNotMissing) {
  Metrics metrics;
  metrics.SetNodes({5, 4, 0, 1, 3, 1, 2, 1});
  EXPECT_TRUE(Exports(metrics, R"(assay_agents{state="disconnected"} 2)"));
  EXPECT_TRUE(Exports(metrics, R"(assay_agents{state="cordoned"} 1)"));
  EXPECT_TRUE(Exports(metrics, R"(assay_agents{simulated="true",state="cordoned"} 1)"));
}

TEST(Metrics, OutcomesOfABenchmarkExistBeforeItsFirstJobEnds) {
  Metrics metrics;
  metrics.JobStarted("gemm");
  EXPECT_TRUE(Exports(metrics, R"(assay_jobs_total{benchmark="gemm",outcome="failed"} 0)"));
}

TEST(Metrics, CordonedNodesAreCounted) {
  Metrics metrics;
  EXPECT_TRUE(Exports(metrics, "assay_nodes_cordoned 0"));
  metrics.SetNodes({5, 2, 4, 1, 3, 1});
  EXPECT_TRUE(Exports(metrics, "assay_nodes_cordoned 2"));
  EXPECT_TRUE(Exports(metrics, R"(assay_nodes_cordoned{simulated="true"} 1)"));
  metrics.SetNodes({5, 2, 4, 1, 0, 0});
  EXPECT_TRUE(Exports(metrics, "assay_nodes_cordoned 0"));
  EXPECT_TRUE(Exports(metrics, R"(assay_nodes_cordoned{simulated="true"} 0)"));
}

TEST(Metrics, FindingsThatHaveEndedAreZero) {
  Metrics metrics;
  EXPECT_TRUE(Exports(metrics, R"(assay_incidents{state="confirmed"} 0)"));
  metrics.SetFindings(
      {{{v1::REGRESSION_STATE_CONFIRMED, false, 2}, {v1::REGRESSION_STATE_CONFIRMED, true, 3}},
       {{v1::OUTLIER_KIND_SLOW, "H200", false, 4}}});
  EXPECT_TRUE(Exports(metrics, R"(assay_incidents{state="confirmed"} 2)"));
  EXPECT_TRUE(Exports(metrics, R"(assay_incidents{simulated="true",state="confirmed"} 3)"));
  EXPECT_TRUE(Exports(metrics, R"(assay_outlier_gpus{kind="slow",model="H200"} 4)"));
  metrics.SetFindings({});
  EXPECT_TRUE(Exports(metrics, R"(assay_incidents{state="confirmed"} 0)"));
  EXPECT_TRUE(Exports(metrics, R"(assay_incidents{simulated="true",state="confirmed"} 0)"));
  EXPECT_TRUE(Exports(metrics, R"(assay_outlier_gpus{kind="slow",model="H200"} 0)"));
}

TEST(Metrics, PoolIsReadAtEveryScrape) {
  Metrics metrics;
  EXPECT_TRUE(Exports(metrics, R"(assay_db_pool_connections{state="waiting"} 0)"));
  int waiting = 0;
  metrics.set_pool([&]() -> PoolUse { return {6, 0, ++waiting}; });
  EXPECT_TRUE(Exports(metrics, R"(assay_db_pool_connections{state="waiting"} 1)"));
  EXPECT_TRUE(Exports(metrics, R"(assay_db_pool_connections{state="waiting"} 2)"));
}

TEST(Metrics, CoordinatorIsReadyAfterItsFirstCheck) {
  Metrics metrics;
  EXPECT_TRUE(Exports(metrics, "assay_coordinator_ready 0"));
  metrics.SetReady(true);
  EXPECT_TRUE(Exports(metrics, "assay_coordinator_ready 1"));
}

std::shared_ptr<const FleetView::Row> RowOf(const std::string& name, v1::NodeState state,
                                            WallTime heard) {
  auto row = std::make_shared<FleetView::Row>();
  v1::NodeDescription& description = *row->facts.mutable_description();
  description.set_name(name);
  description.set_node_id("id of " + name);
  description.set_metrics_address(name + ":9901");
  row->facts.set_state(state);
  *row->facts.mutable_last_heartbeat_time() = schema::ToTimestamp(heard);
  return row;
}

class ServiceDiscoveryTest : public ::testing::Test {
 protected:
  // Adds a node and returns its description.
  v1::NodeDescription& Add(const std::string& name, v1::NodeState state, Duration ago = 0s) {
    auto row = std::make_shared<FleetView::Row>(*RowOf(name, state, now_ - ago));
    rows_.push_back(row);
    return *row->facts.mutable_description();
  }
  // Returns the labels of all targets by "node at address".
  std::map<std::string, nlohmann::json> Targets() const {
    std::map<std::string, nlohmann::json> targets;
    for (const nlohmann::json& group : nlohmann::json::parse(ServiceDiscovery(rows_, now_))) {
      targets[std::string(group["labels"]["__meta_assay_node"]) + " at " +
              std::string(group["targets"].at(0))] = group["labels"];
    }
    return targets;
  }

  const WallTime now_ = WallTime(std::chrono::seconds(1'767'225'600));
  FleetView::Rows rows_;
};

TEST_F(ServiceDiscoveryTest, LostAgentsStayForAnHour) {
  Add("here", v1::NODE_STATE_CONNECTED);
  Add("lost", v1::NODE_STATE_DISCONNECTED, 59min);
  Add("gone", v1::NODE_STATE_DISCONNECTED, 1h);
  Add("unreachable", v1::NODE_STATE_CONNECTED).clear_metrics_address();
  const auto targets = Targets();
  EXPECT_EQ(targets.size(), 2U);
  EXPECT_TRUE(targets.contains("here at here:9901"));
  EXPECT_TRUE(targets.contains("lost at lost:9901"));
}

TEST_F(ServiceDiscoveryTest, NodeThatWasInstalledAgainIsThereOnce) {
  Add("a", v1::NODE_STATE_CONNECTED, 3s);
  Add("a (old)", v1::NODE_STATE_DISCONNECTED, 1s).set_metrics_address("a:9901");
  Add("b (old)", v1::NODE_STATE_DISCONNECTED, 30min).set_metrics_address("b:9901");
  Add("b", v1::NODE_STATE_DISCONNECTED, 20min);
  const auto targets = Targets();
  EXPECT_EQ(targets.size(), 2U);
  EXPECT_TRUE(targets.contains("a at a:9901"));
  EXPECT_TRUE(targets.contains("b at b:9901"));
}

TEST_F(ServiceDiscoveryTest, LabelsOfTheNodeAreLabelsOfPrometheus) {
  v1::NodeDescription& node = Add("a", v1::NODE_STATE_CONNECTED);
  node.set_provider("lambda");
  node.set_region("us-east-1");
  node.mutable_inventory()->add_gpus()->set_model("H200");
  node.mutable_inventory()->add_gpus()->set_model("L4");
  (*node.mutable_labels())["Rack-No."] = "upper";
  (*node.mutable_labels())["rack-no."] = "lower";
  (*node.mutable_labels())["z\xc3\xbc"] = "umlaut";
  const nlohmann::json labels = Targets().at("a at a:9901");
  EXPECT_EQ(labels["__meta_assay_node_id"], "id of a");
  EXPECT_EQ(labels["__meta_assay_provider"], "lambda");
  EXPECT_EQ(labels["__meta_assay_region"], "us-east-1");
  EXPECT_EQ(labels["__meta_assay_model"], "H200");
  EXPECT_EQ(labels["__meta_assay_label_rack_no_"], "upper");
  EXPECT_EQ(labels["__meta_assay_label_z__"], "umlaut");
}

}  // namespace
}  // namespace assay::coordinator
