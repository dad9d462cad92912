// docs/reference/metrics.md: every metric that coordinator and agent export.
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "agent/metrics/agent_metrics.h"
#include "coordinator/metrics/gpu_metrics.h"
#include "coordinator/metrics/metrics.h"
#include "tests/docs/page.h"
#include "tests/temporary_folder.h"

namespace assay {
namespace {

using testing_support::CodeSpan;
using testing_support::MarkdownTable;

constexpr char kMetricsPage[] = "docs/reference/metrics.md";

std::string TypeName(prometheus::MetricType type) {
  switch (type) {
    case prometheus::MetricType::Counter:
      return "counter";
    case prometheus::MetricType::Gauge:
      return "gauge";
    default:
      return "histogram";
  }
}

std::string MetricTable(std::vector<prometheus::MetricFamily> families) {
  std::sort(families.begin(), families.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  std::vector<std::vector<std::string>> rows;
  for (const prometheus::MetricFamily& family : families) {
    std::set<std::string> names;
    for (const auto& metric : family.metric) {
      for (const auto& label : metric.label) names.insert(label.name);
    }
    std::string labels;
    for (const std::string& name : names) labels += (labels.empty() ? "" : " ") + CodeSpan(name);
    rows.push_back({CodeSpan(family.name), TypeName(family.type), labels, family.help});
  }
  return MarkdownTable({"metric", "type", "labels", "meaning"}, rows);
}

TEST(MetricsPage, ListsTheCoordinatorsMetrics) {
  coordinator::Metrics metrics;
  // Families without any sample are not exported.
  metrics.JobEnded("gemm", "succeeded", std::chrono::seconds(1));
  metrics.QueryEnded("claim", std::chrono::milliseconds(1));
  metrics.CallEnded("CreateCampaign", Code::kOk);
  metrics.SetNodes({1, 1, 1, 1});
  metrics.SetFindings(
      {{{v1::REGRESSION_STATE_CONFIRMED, true, 1}}, {{v1::OUTLIER_KIND_SLOW, "H200", true, 1}}});
  EXPECT_BLOCK(kMetricsPage, "coordinator", MetricTable(metrics.collectable()->Collect()));
}

TEST(MetricsPage, ListsTheMetricsOfTheFleetsGpus) {
  v1::GpuTelemetry gpu;
  gpu.set_temperature_celsius(1);
  gpu.set_power_watts(1);
  gpu.set_power_limit_watts(1);
  gpu.set_sm_clock_mhz(1);
  gpu.set_utilization(1);
  gpu.set_memory_used_bytes(1);
  gpu.set_ecc_corrected(1);
  gpu.set_ecc_uncorrected(1);
  gpu.set_last_xid(1);
  gpu.add_throttle_times()->set_reason("thermal");
  coordinator::NodeTelemetry node;
  v1::NodeDescription description;
  description.mutable_inventory()->set_simulated(true);
  node.node = std::make_shared<const v1::NodeDescription>(description);
  node.gpus = std::make_shared<const std::vector<v1::GpuTelemetry>>(1, gpu);
  EXPECT_BLOCK(kMetricsPage, "gpus", MetricTable(coordinator::GpuMetrics({node})));
}

TEST(MetricsPage, ListsTheAgentsMetrics) {
  const TemporaryFolder folder;
  Result<std::unique_ptr<agent::Spool>> spool = agent::Spool::Open(folder.path(), 1 << 20);
  ASSERT_TRUE(spool.ok()) << spool.status();
  Result<std::unique_ptr<Nvml>> nvml = Nvml::Open([](const std::string&) {}, ASSAY_FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  agent::AgentMetricsSources sources;
  sources.node.mutable_inventory()->add_gpus()->set_index(2);  // It has had an Xid.
  sources.session = [] {
    agent::SessionStats stats;
    stats.last_heartbeat = WallTime();
    return stats;
  };
  sources.spool = *std::move(spool);
  sources.nvml = *std::move(nvml);
  EXPECT_BLOCK(kMetricsPage, "agent", MetricTable(agent::AgentMetrics(sources).Collect()));
}

}  // namespace
}  // namespace assay
