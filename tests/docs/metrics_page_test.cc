// docs/reference/metrics.md: every metric that coordinator and agent export.
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "agent/metrics/agent_metrics.h"
#include "coordinator/metrics/fleet_metrics.h"
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
  metrics.SetNodes({1, 1, 1, 1, 1, 1});
  metrics.SetFindings(
      {{{v1::REGRESSION_STATE_CONFIRMED, true, 1}}, {{v1::OUTLIER_KIND_SLOW, "H200", true, 1}}});
  EXPECT_BLOCK(kMetricsPage, "coordinator", MetricTable(metrics.collectable()->Collect()));
}

// Parses what FleetMetrics exports. Values of labels are left out.
std::vector<prometheus::MetricFamily> Parse(const std::string& text) {
  std::vector<prometheus::MetricFamily> families;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string mark, kind, name, rest;
    if (line.starts_with("# HELP")) {
      words >> mark >> kind >> name;
      std::getline(words >> std::ws, rest);
      families.emplace_back().name = name;
      families.back().help = rest;
    } else if (line.starts_with("# TYPE")) {
      families.back().type = line.ends_with(" counter") ? prometheus::MetricType::Counter
                                                        : prometheus::MetricType::Gauge;
    } else {
      prometheus::ClientMetric& metric = families.back().metric.emplace_back();
      static const std::regex label("(\\w+)=\"");
      for (std::sregex_iterator at(line.begin(), line.end(), label), end; at != end; ++at) {
        metric.label.push_back({(*at)[1], ""});
      }
    }
  }
  return families;
}

v1::GpuTelemetry FullTelemetry() {
  v1::GpuTelemetry gpu;
  // Sets all numbers to 1, also those that a later version adds.
  const google::protobuf::Descriptor& descriptor = *v1::GpuTelemetry::descriptor();
  const google::protobuf::Reflection& reflection = *v1::GpuTelemetry::GetReflection();
  using Field = google::protobuf::FieldDescriptor;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const Field* field = descriptor.field(i);
    if (field->is_repeated() || field->name() == "index") continue;
    if (field->cpp_type() == Field::CPPTYPE_DOUBLE) reflection.SetDouble(&gpu, field, 1);
    if (field->cpp_type() == Field::CPPTYPE_INT64) reflection.SetInt64(&gpu, field, 1);
    if (field->cpp_type() == Field::CPPTYPE_INT32) reflection.SetInt32(&gpu, field, 1);
    if (field->cpp_type() == Field::CPPTYPE_BOOL) reflection.SetBool(&gpu, field, true);
  }
  gpu.mutable_last_xid_time()->set_seconds(1);
  gpu.add_throttle_reasons("hw_slowdown");
  gpu.add_throttle_times()->set_reason("thermal");
  return gpu;
}

TEST(MetricsPage, ListsTheMetricsOfTheFleet) {
  v1::NodeDescription description;
  description.set_node_id("id");
  description.set_name("a");
  description.set_provider("p");
  description.set_region("r");
  description.set_agent_version("v");
  description.set_price_per_hour(1);
  v1::NodeInventory& inventory = *description.mutable_inventory();
  inventory.set_simulated(true);
  inventory.set_driver_version("d");
  v1::GpuInventory& gpu = *inventory.add_gpus();
  gpu.set_model("m");
  gpu.set_uuid("u");
  gpu.set_mig_profile("1g.18gb");
  gpu.set_memory_bytes(1);
  gpu.set_sm_clock_max_mhz(1);
  gpu.set_slowdown_celsius(1);
  gpu.set_nvlinks_active(1);
  coordinator::FleetMetricsSources sources;
  coordinator::SessionState& session = sources.sessions.emplace_back();
  session.node = std::make_shared<const v1::NodeDescription>(description);
  session.gpus = std::make_shared<const std::vector<v1::GpuTelemetry>>(1, FullTelemetry());
  session.spool_depth = 1;
  session.clock_offset_seconds = 1;
  auto row = std::make_shared<coordinator::FleetView::Row>();
  row->node.set_node_id("id");
  auto snapshot = std::make_shared<coordinator::FleetView::Snapshot>();
  snapshot->rows = {row};
  *row->facts.mutable_description() = description;
  sources.snapshot = snapshot;
  std::string text;
  const auto next = coordinator::FleetMetrics(std::move(sources));
  for (std::string part; !(part = next()).empty();) text += part;
  EXPECT_BLOCK(kMetricsPage, "fleet", MetricTable(Parse(text)));
}

TEST(MetricsPage, ListsTheAgentsMetrics) {
  const TemporaryFolder folder;
  Result<std::unique_ptr<agent::Spool>> spool = agent::Spool::Open(folder.path(), 1 << 20);
  ASSERT_TRUE(spool.ok()) << spool.status();
  Result<std::unique_ptr<Nvml>> nvml = Nvml::Open([](const std::string&) {}, ASSAY_FAKE_NVML);
  ASSERT_TRUE(nvml.ok()) << nvml.status();
  agent::AgentMetricsSources sources;
  v1::GpuInventory& gpu = *sources.node.mutable_inventory()->add_gpus();
  gpu.set_index(2);  // It has had an Xid.
  gpu.set_memory_bytes(1);
  gpu.set_sm_clock_max_mhz(1);
  gpu.set_slowdown_celsius(1);
  gpu.set_nvlinks_active(1);
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
