// The coordinator's gauges, as they are exported.
#include "coordinator/metrics/metrics.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <sstream>

#include "coordinator/metrics/gpu_metrics.h"

namespace assay::coordinator {
namespace {

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

TEST(GpuMetrics, SimulatedNodesHaveALabel) {
  v1::GpuTelemetry gpu;
  gpu.set_last_xid(79);
  NodeTelemetry node;
  v1::NodeDescription description;
  description.set_name("n1");
  node.node = std::make_shared<const v1::NodeDescription>(description);
  node.gpus = std::make_shared<const std::vector<v1::GpuTelemetry>>(1, gpu);
  EXPECT_EQ(GpuMetricsText({node}).find("simulated"), std::string::npos);
  description.mutable_inventory()->set_simulated(true);
  node.node = std::make_shared<const v1::NodeDescription>(description);
  EXPECT_NE(GpuMetricsText({node}).find(R"(simulated="true"} 79)"), std::string::npos);
}

}  // namespace
}  // namespace assay::coordinator
