#include "cli/views/node_view.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace assay::cli
