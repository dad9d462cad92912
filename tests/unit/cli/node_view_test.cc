#include "cli/views/node_view.h"

#include <gtest/gtest.h>

#include "cli/views/drain_progress.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

TEST(NodeTable, FindingsOfSeveralGpus_AreCounted) {
  v1::Node node;
  node.mutable_description()->set_name("node-a");
  for (const char* check : {"throttled_before", "disk_free", "throttled_before"}) {
    node.mutable_description()->add_health()->set_check(check);
  }
  EXPECT_WORDING("views/node-health", NodeTable({node}).Render({}));
}

TEST(NodeView, FindingsSayWhereTheyComeFrom) {
  v1::Node node;
  node.mutable_description()->set_name("node-a");
  v1::HealthFinding* finding = node.mutable_description()->add_health();
  finding->set_check("disk_free");
  finding->set_severity(v1::HealthFinding::SEVERITY_ERROR);
  finding->set_message("the disk is full");
  EXPECT_WORDING("views/node-findings", DescribeNode(node, {}, {}));
}

TEST(NodeView, TelemetryHasOnlyWhatWasRead) {
  v1::Node node;
  node.mutable_description()->set_name("node-a");
  v1::GpuTelemetry& busy = *node.add_telemetry();
  busy.set_temperature_celsius(87);
  busy.set_power_watts(612.4);
  busy.set_power_limit_watts(700);
  busy.set_sm_clock_mhz(1215);
  busy.set_utilization(1);
  busy.set_memory_used_bytes(int64_t{90} << 30);
  busy.set_ecc_corrected(3);
  busy.set_ecc_uncorrected(0);
  busy.add_throttle_reasons("hw_thermal_slowdown");
  v1::GpuTelemetry& broken = *node.add_telemetry();
  broken.set_index(1);
  broken.set_power_watts(80);
  broken.set_ecc_uncorrected(2);
  broken.set_last_xid(94);
  broken.mutable_last_xid_time()->set_seconds(1'767'225'600);
  broken.set_row_remap_pending(true);
  node.add_telemetry()->set_index(2);
  EXPECT_WORDING("views/node-telemetry", DescribeNode(node, {}, {}));
}

TEST(NodeView, QuarantinedNode_HasItsReason) {
  v1::Node node;
  node.mutable_description()->set_name("node-a");
  node.mutable_description()->set_node_id("id");
  node.set_state(v1::NODE_STATE_CONNECTED);
  node.set_quarantine("failed 5 jobs in a row");
  node.mutable_quarantine_time()->set_seconds(1'767'225'600);
  EXPECT_WORDING("views/node-quarantined", NodeTable({node}).Render({}));
  EXPECT_WORDING("views/node-quarantine-reason", DescribeNode(node, {}, {}));
  // Its agent is away, which is worse.
  node.set_state(v1::NODE_STATE_DISCONNECTED);
  EXPECT_EQ(NodeTable({node}).Render({}).find("quarantined"), std::string::npos);
}

TEST(NodeTable, StateShowsCordonsAndDrains) {
  std::vector<v1::Node> nodes;
  const auto add = [&](v1::NodeState state, bool busy, bool drain) -> v1::Node& {
    v1::Node& node = nodes.emplace_back();
    node.mutable_description()->set_name("node-" + std::to_string(nodes.size()));
    node.set_state(state);
    node.mutable_cordon();
    if (busy) node.add_job_ids("job");
    if (drain) node.mutable_cordon()->mutable_drain_deadline()->set_seconds(1'767'225'600);
    return node;
  };
  for (const bool busy : {false, true}) {
    for (const bool drain : {false, true}) {
      add(v1::NODE_STATE_CONNECTED, busy, drain);
      add(v1::NODE_STATE_DISCONNECTED, busy, drain);
      add(v1::NODE_STATE_CONNECTED, busy, drain).set_quarantine("failed 5 jobs in a row");
    }
  }
  Style narrow;
  narrow.width = 80;
  EXPECT_WORDING("views/node-cordons", NodeTable(nodes).Render(narrow));
}

TEST(NodeView, CordonAndSettingsAreNamed) {
  v1::Node node;
  node.mutable_description()->set_name("node-a");
  node.mutable_description()->set_node_id("id");
  node.mutable_description()->set_price_per_hour(2.49);
  (*node.mutable_description()->mutable_labels())["rack"] = "7";
  node.set_state(v1::NODE_STATE_CONNECTED);
  v1::Cordon& cordon = *node.mutable_cordon();
  cordon.mutable_time()->set_seconds(1'767'225'600);
  EXPECT_WORDING("views/node-cordon-bare", DescribeNode(node, {}, {}));
  cordon.set_reason("new PSU");
  cordon.set_cordoned_by("ada");
  cordon.mutable_drain_deadline()->set_seconds(1'767'229'200);
  v1::NodeSettings& settings = *node.mutable_settings();
  (*settings.mutable_labels())["rack"] = "7";
  settings.set_price_per_hour(2.49);
  for (const char* key : {"row", "zone"}) settings.add_removed_labels(key);
  EXPECT_WORDING("views/node-drain", DescribeNode(node, {}, {}));
  const std::string csv = NodeCsv({node});
  EXPECT_NE(csv.find("cordon_time,cordon_reason,cordoned_by,drain_deadline"), std::string::npos);
  EXPECT_NE(csv.find("2026-01-01T00:00:00Z,new PSU,ada,2026-01-01T01:00:00Z"), std::string::npos)
      << csv;
}

// Returns a node that is drained and runs these jobs.
v1::Node DrainedNode(const std::vector<std::string>& jobs) {
  v1::Node node;
  node.mutable_description()->set_name("node-a");
  node.set_state(v1::NODE_STATE_CONNECTED);
  node.mutable_last_heartbeat_time()->set_seconds(1'767'225'600);
  node.mutable_cordon()->mutable_drain_deadline()->set_seconds(1'767'229'200);
  node.mutable_job_ids()->Add(jobs.begin(), jobs.end());
  return node;
}

using End = DrainProgress::End;

TEST(DrainProgress, SaysWhatStillRunsUntilTheNodeIsEmpty) {
  DrainProgress progress(std::chrono::minutes(30));
  std::string said;
  for (const std::vector<std::string>& jobs :
       std::vector<std::vector<std::string>>{{"job-1", "job-2"}, {"job-1", "job-2"}, {"job-2"}}) {
    const DrainProgress::Step step = progress.Apply(DrainedNode(jobs), Duration(0));
    EXPECT_EQ(step.end, End::kNone);
    if (!step.line.empty()) said += step.line + "\n";
  }
  const DrainProgress::Step last = progress.Apply(DrainedNode({}), Duration(0));
  EXPECT_EQ(last.end, End::kEmpty);
  EXPECT_WORDING("views/drain", said + last.line);
}

TEST(DrainProgress, LostAgentIsNamedAndFailsTheDrain) {
  DrainProgress progress(std::chrono::minutes(30));
  v1::Node lost = DrainedNode({"job-1"});
  lost.set_state(v1::NODE_STATE_DISCONNECTED);
  const DrainProgress::Step first = progress.Apply(lost, Duration(0));
  EXPECT_EQ(first.end, End::kNone);
  lost.clear_job_ids();
  const DrainProgress::Step last = progress.Apply(lost, Duration(0));
  EXPECT_EQ(last.end, End::kFailed);
  EXPECT_WORDING("views/drain-lost", first.line + "\n" + last.line);
  // It ran nothing.
  EXPECT_EQ(DrainProgress(Duration(0)).Apply(lost, Duration(0)).end, End::kEmpty);
}

TEST(DrainProgress, EndsAMinuteAfterTheDeadline) {
  constexpr Duration kDeadline = std::chrono::minutes(30);
  DrainProgress progress(kDeadline);
  const v1::Node node = DrainedNode({"job-1"});
  EXPECT_EQ(progress.Apply(node, kDeadline + DrainProgress::kGrace).end, End::kNone);
  const DrainProgress::Step last =
      progress.Apply(node, kDeadline + DrainProgress::kGrace + std::chrono::seconds(1));
  EXPECT_EQ(last.end, End::kFailed);
  EXPECT_WORDING("views/drain-late", last.line);
}

TEST(DrainProgress, EndsIfSomeoneEndsTheDrain) {
  v1::Node node = DrainedNode({"job-1"});
  node.mutable_cordon()->clear_drain_deadline();
  const DrainProgress::Step cordoned = DrainProgress(Duration(0)).Apply(node, Duration(0));
  EXPECT_EQ(cordoned.end, End::kFailed);
  node.clear_cordon();
  const DrainProgress::Step free = DrainProgress(Duration(0)).Apply(node, Duration(0));
  EXPECT_EQ(free.end, End::kFailed);
  EXPECT_WORDING("views/drain-ended", cordoned.line + "\n" + free.line);
}

}  // namespace
}  // namespace assay::cli
