#include "coordinator/core/fleet_view.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/unit/coordinator/fleet_fixture.h"

namespace assay::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace std::chrono_literals;
using SnapshotPointer = std::shared_ptr<const FleetView::Snapshot>;

// A fleet of a node with two GPUs, "g", and one without, "c".
class FleetViewTest : public FleetFixture {
 protected:
  FleetViewTest() {
    g_.mutable_description()->mutable_inventory()->mutable_gpus(0)->set_sm_clock_max_mhz(1980);
    g_.mutable_description()->set_provider("acme");
    g_.mutable_description()->set_price_per_hour(3);
    (*g_.mutable_description()->mutable_labels())["rack"] = "7";
    (*g_.mutable_description()->mutable_labels())["row"] = "2";
  }

  SnapshotPointer Latest() {
    const auto snapshot = coordinator->fleet_view().Latest();
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? *snapshot : nullptr;
  }
  // A snapshot that includes what happened just now.
  SnapshotPointer Next() {
    executor->Advance(coordinator->options().fleet_period);
    return Latest();
  }

  std::vector<std::string> NamesOf(const std::string& filter) {
    const SnapshotPointer snapshot = Latest();
    const auto rows = coordinator->fleet_view().Matching(*snapshot, filter);
    EXPECT_TRUE(rows.ok()) << rows.status();
    std::vector<std::string> names;
    if (!rows.ok()) return names;
    for (const auto& row : *rows) names.push_back(row->node.name());
    return names;
  }

  void SayTelemetry(const std::shared_ptr<FakeAgent>& agent,
                    const std::vector<v1::GpuTelemetry>& gpus) {
    v1::AgentMessage message;
    message.mutable_state()->set_sequence(1);
    message.mutable_state()->mutable_gpus()->Assign(gpus.begin(), gpus.end());
    Say(agent, std::move(message));
  }

  static v1::GpuTelemetry Gpu(int index, double celsius) {
    v1::GpuTelemetry gpu;
    gpu.set_index(index);
    gpu.set_temperature_celsius(celsius);
    return gpu;
  }

  void Put(const storage::Findings& findings) {
    ASSERT_TRUE(analysis.PutFindings(findings, 0).ok());
  }

  v1::OutlierCase Case(double ratio) {
    v1::OutlierCase one;
    one.mutable_case_()->set_lineage_id("lineage");
    one.set_ratio(ratio);
    one.mutable_end_time()->set_seconds(
        std::chrono::duration_cast<std::chrono::seconds>(clock.WallNow().time_since_epoch())
            .count());
    return one;
  }

  v1::Node g_ = MakeFleetNode("g", '7', 2);
  const v1::Node c_ = MakeFleetNode("c", '3', 0);
};

TEST_F(FleetViewTest, RowHasTheNodeInShort) {
  v1::HealthFinding* finding = g_.mutable_description()->add_health();
  finding->set_severity(v1::HealthFinding::SEVERITY_ERROR);
  g_.mutable_description()->add_health()->set_severity(v1::HealthFinding::SEVERITY_WARNING);
  Attach(g_);
  Attach(c_);
  const SnapshotPointer snapshot = Latest();
  ASSERT_THAT(snapshot->rows, SizeIs(2));
  EXPECT_EQ(snapshot->rows[0]->node.name(), "c");
  const v1::FleetNode& node = snapshot->rows[1]->node;
  EXPECT_EQ(node.node_id(), g_.description().node_id());
  EXPECT_EQ(node.state(), v1::NODE_STATE_CONNECTED);
  EXPECT_EQ(node.provider(), "acme");
  EXPECT_EQ(node.price_per_hour(), 3);
  EXPECT_EQ(node.labels().at("rack"), "7");
  EXPECT_EQ(node.driver_version(), "580.95.05");
  EXPECT_EQ(node.health_error_count(), 1);
  EXPECT_EQ(node.health_warning_count(), 1);
  ASSERT_THAT(node.gpus(), SizeIs(2));
  EXPECT_EQ(node.gpus(0).model(), "H200");
  EXPECT_EQ(node.gpus(0).uuid(), "GPU-70");
  EXPECT_EQ(node.gpus(0).sm_clock_max_mhz(), 1980);
  EXPECT_FALSE(node.gpus(0).has_temperature_celsius());
  EXPECT_EQ(snapshot->summary.node_count(), 2);
  EXPECT_EQ(snapshot->summary.gpu_count(), 2);
  EXPECT_EQ(snapshot->summary.failing_node_count(), 1);
  EXPECT_EQ(snapshot->summary.lost_node_count(), 0);
  EXPECT_FALSE(snapshot->summary.simulated());
  EXPECT_TRUE(snapshot->summary.has_time());
}

TEST_F(FleetViewTest, TelemetryReachesTheRowAndTheNode) {
  const auto agent = Attach(g_);
  v1::GpuTelemetry hot = Gpu(1, 86.6);
  hot.set_power_watts(612.4);
  hot.set_power_limit_watts(700);
  hot.set_sm_clock_mhz(1200);
  hot.set_utilization(0.996);
  hot.add_throttle_reasons("hw_thermal_slowdown");
  hot.set_ecc_uncorrected(2);
  hot.set_last_xid(79);
  SayTelemetry(agent, {hot, Gpu(0, 40)});
  const SnapshotPointer snapshot = Latest();
  const v1::FleetGpu& gpu = snapshot->rows[0]->node.gpus(1);
  EXPECT_EQ(gpu.temperature_celsius(), 87);
  EXPECT_EQ(gpu.power_watts(), 612);
  EXPECT_EQ(gpu.power_limit_watts(), 700);
  EXPECT_EQ(gpu.sm_clock_mhz(), 1200);
  EXPECT_EQ(gpu.utilization_percent(), 100);
  EXPECT_THAT(gpu.throttle_reasons(), ElementsAre("hw_thermal_slowdown"));
  EXPECT_EQ(gpu.ecc_uncorrected(), 2);
  EXPECT_EQ(gpu.last_xid(), 79);
  EXPECT_FALSE(snapshot->rows[0]->node.gpus(0).has_power_watts());

  const auto telemetry = coordinator->GetNode("g")->telemetry();
  ASSERT_THAT(telemetry, SizeIs(2));
  EXPECT_EQ(telemetry[1].temperature_celsius(), 86.6);
  // A State between heartbeats carries none, and does not erase any.
  SayState(agent, {});
  EXPECT_THAT(coordinator->GetNode("g")->telemetry(), SizeIs(2));
}

TEST_F(FleetViewTest, TelemetryEndsWithItsSessionAndWithSilence) {
  const auto agent = Attach(g_);
  SayTelemetry(agent, {Gpu(0, 40)});
  executor->Advance(coordinator->options().Silence());
  SayState(agent, {});
  EXPECT_THAT(coordinator->GetNode("g")->telemetry(), IsEmpty()) << "the driver may hang";
  SayTelemetry(agent, {Gpu(0, 41)});
  EXPECT_THAT(coordinator->GetNode("g")->telemetry(), SizeIs(1));
  EXPECT_THAT(coordinator->sessions().List(1min), SizeIs(1));
  agent->session->OnClosed();
  executor->RunReady();
  EXPECT_THAT(coordinator->GetNode("g")->telemetry(), IsEmpty());
  EXPECT_THAT(coordinator->sessions().List(1min), IsEmpty());
  const SnapshotPointer snapshot = Latest();
  EXPECT_FALSE(snapshot->rows[0]->node.gpus(0).has_temperature_celsius());
  EXPECT_EQ(snapshot->summary.lost_node_count(), 1);
}

TEST_F(FleetViewTest, AnotherCoordinatorAnswersWithoutTelemetry) {
  const auto agent = Attach(g_);
  SayTelemetry(agent, {Gpu(0, 40)});
  const std::unique_ptr<Coordinator> standby = MakeCoordinator({"standby", "standby:1"});
  executor->RunReady();
  const auto snapshot = standby->fleet_view().Latest();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  ASSERT_THAT((*snapshot)->rows, SizeIs(1));
  EXPECT_EQ((*snapshot)->rows[0]->node.state(), v1::NODE_STATE_CONNECTED);
  EXPECT_FALSE((*snapshot)->rows[0]->node.gpus(0).has_temperature_celsius());
  standby->Shutdown(1s);
  executor->RunReady();
}

TEST(BoundedTelemetry, LeavesOutWhatExceeds) {
  google::protobuf::RepeatedPtrField<v1::GpuTelemetry> sent;
  for (int i = 99; i >= 0; --i) sent.Add()->set_index(i);
  sent[0].set_index(-1);
  v1::GpuTelemetry& gpu = sent[1];  // The highest index, and first.
  gpu.set_temperature_celsius(std::numeric_limits<double>::quiet_NaN());
  gpu.set_power_watts(std::numeric_limits<double>::infinity());
  gpu.set_power_limit_watts(-1);
  gpu.set_utilization(1.5);
  gpu.set_sm_clock_mhz(1e300);
  gpu.set_memory_used_bytes(-5);
  gpu.set_ecc_uncorrected(7);
  gpu.set_rows_remapped_correctable(-1);
  gpu.set_rows_remapped_uncorrectable(-1);
  gpu.set_pcie_replays(-1);
  gpu.set_nvlink_errors(-1);
  gpu.set_nvlinks_active(-1);
  gpu.mutable_last_xid_time()->set_nanos(-1);
  for (int i = 0; i < 1000; ++i) gpu.add_throttle_reasons("reason " + std::to_string(i / 2));
  gpu.set_throttle_reasons(0, std::string(1000, 'x'));
  gpu.set_throttle_reasons(1, "two\nlines");
  gpu.add_throttle_times()->set_seconds(std::numeric_limits<double>::quiet_NaN());
  gpu.add_throttle_times()->set_reason("power");
  gpu.add_throttle_times()->set_reason("power");
  const std::vector<v1::GpuTelemetry> kept = BoundedTelemetry(sent);
  ASSERT_THAT(kept, SizeIs(64));
  EXPECT_EQ(kept.front().index(), 35);
  const v1::GpuTelemetry& last = kept.back();
  EXPECT_EQ(last.index(), 98);
  EXPECT_FALSE(last.has_temperature_celsius());
  EXPECT_FALSE(last.has_power_watts());
  EXPECT_FALSE(last.has_power_limit_watts());
  EXPECT_FALSE(last.has_utilization());
  EXPECT_FALSE(last.has_sm_clock_mhz());
  EXPECT_FALSE(last.has_memory_used_bytes());
  EXPECT_EQ(last.ecc_uncorrected(), 7);
  EXPECT_FALSE(last.has_last_xid_time());
  EXPECT_FALSE(last.has_rows_remapped_correctable());
  EXPECT_FALSE(last.has_rows_remapped_uncorrectable());
  EXPECT_FALSE(last.has_pcie_replays());
  EXPECT_FALSE(last.has_nvlink_errors());
  EXPECT_FALSE(last.has_nvlinks_active());
  EXPECT_THAT(last.throttle_reasons(), SizeIs(16));
  EXPECT_EQ(last.throttle_reasons(0), "reason 1");
  EXPECT_EQ(last.throttle_reasons(1), "reason 2");
  ASSERT_THAT(last.throttle_times(), SizeIs(1));
  EXPECT_EQ(last.throttle_times(0).reason(), "power");
}

TEST_F(FleetViewTest, FilterIsThatOfNodes) {
  Attach(g_);
  Attach(c_);
  EXPECT_THAT(NamesOf(""), ElementsAre("c", "g"));
  EXPECT_THAT(NamesOf("gpu.model = H200"), ElementsAre("g"));
  EXPECT_THAT(NamesOf("label.rack = 7"), ElementsAre("g"));
  EXPECT_THAT(NamesOf("benchmark = gemm"), ElementsAre("g"));
  EXPECT_THAT(NamesOf("benchmark = cpu_gemm"), ElementsAre("c", "g"));
  EXPECT_THAT(NamesOf("name = nobody"), IsEmpty());
  const SnapshotPointer snapshot = Latest();
  EXPECT_EQ(coordinator->fleet_view().Matching(*snapshot, "colour = red").status().reason(),
            Reason::kUnknownField);
  EXPECT_EQ(coordinator->fleet_view().Matching(*snapshot, "name = (").status().code(),
            Code::kInvalidArgument);
}

TEST_F(FleetViewTest, OutlierHasItsWorstCase) {
  Attach(g_);
  storage::Findings findings;
  findings.lineage_ids = {"lineage"};
  const auto add = [&](const std::vector<std::string>& gpus, double ratio, v1::OutlierKind kind) {
    v1::Outlier& outlier = findings.outliers.emplace_back();
    outlier.mutable_place()->add_node_names("g");
    for (const std::string& gpu : gpus) outlier.mutable_place()->add_gpu_uuids(gpu);
    outlier.set_kind(kind);
    *outlier.add_cases() = Case(ratio);
    outlier.mutable_cases(0)->set_kind(kind);
  };
  add({"GPU-71"}, 0.9, v1::OUTLIER_KIND_SLOW);
  add({"GPU-71"}, 0.8, v1::OUTLIER_KIND_SLOW);
  add({"GPU-71"}, 0.95, v1::OUTLIER_KIND_SLOW);
  add({"GPU-70", "GPU-71"}, 0.1, v1::OUTLIER_KIND_SLOW);  // A link.
  Put(findings);
  const SnapshotPointer snapshot = Latest();
  const v1::FleetNode& node = snapshot->rows[0]->node;
  EXPECT_FALSE(node.gpus(0).has_outlier_ratio());
  EXPECT_DOUBLE_EQ(node.gpus(1).outlier_ratio(), 0.8);
  EXPECT_EQ(node.gpus(1).outlier_kind(), v1::OUTLIER_KIND_SLOW);
  EXPECT_EQ(snapshot->summary.outlier_count(), 1);
}

TEST_F(FleetViewTest, OpenRegressionsAreCountedWhereTheyAre) {
  Attach(g_);
  storage::Findings findings;
  const auto add = [&](const std::string& id, const std::vector<std::string>& gpus,
                       v1::RegressionState state) {
    v1::Regression& regression = findings.regressions.emplace_back();
    regression.set_regression_id(id);
    regression.set_state(state);
    regression.mutable_case_()->set_lineage_id("lineage");
    regression.mutable_place()->add_node_names("g");
    for (const std::string& gpu : gpus) regression.mutable_place()->add_gpu_uuids(gpu);
  };
  add("1", {"GPU-71"}, v1::REGRESSION_STATE_CONFIRMED);
  add("2", {"GPU-71"}, v1::REGRESSION_STATE_ACKNOWLEDGED);
  add("3", {"GPU-71"}, v1::REGRESSION_STATE_RESOLVED);
  add("4", {}, v1::REGRESSION_STATE_DETECTED);
  add("5", {"GPU-70", "GPU-71"}, v1::REGRESSION_STATE_DETECTED);
  for (const auto& [id, state] : {std::pair("a", v1::REGRESSION_STATE_CONFIRMED),
                                  {"b", v1::REGRESSION_STATE_DETECTED},
                                  {"c", v1::REGRESSION_STATE_ACKNOWLEDGED},
                                  {"d", v1::REGRESSION_STATE_CLEARED}}) {
    v1::Incident& incident = findings.incidents.emplace_back();
    incident.set_incident_id(id);
    incident.set_state(state);
  }
  findings.incidents.emplace_back(findings.incidents[0]).set_incident_id("simulated");
  findings.incidents.back().set_simulated(true);
  Put(findings);
  const SnapshotPointer snapshot = Latest();
  const v1::FleetNode& node = snapshot->rows[0]->node;
  EXPECT_EQ(node.gpus(0).regression_count(), 0);
  EXPECT_EQ(node.gpus(1).regression_count(), 2);
  EXPECT_EQ(node.regression_count(), 2);
  EXPECT_EQ(snapshot->summary.confirmed_incident_count(), 1);
  EXPECT_EQ(snapshot->summary.detected_incident_count(), 1);
}

TEST_F(FleetViewTest, SimulatedNodesCountOnlyAlone) {
  v1::Node simulated = MakeFleetNode("s", '5', 8);
  simulated.mutable_description()->mutable_inventory()->set_simulated(true);
  Attach(simulated);
  EXPECT_EQ(Latest()->summary.node_count(), 1);
  EXPECT_TRUE(Latest()->summary.simulated());
  Attach(g_);
  const SnapshotPointer snapshot = Next();
  EXPECT_THAT(snapshot->rows, SizeIs(2));
  EXPECT_EQ(snapshot->summary.node_count(), 1);
  EXPECT_EQ(snapshot->summary.gpu_count(), 2);
  EXPECT_FALSE(snapshot->summary.simulated());
}

TEST_F(FleetViewTest, CampaignOfAbsentNodesIsStalled) {
  const auto agent = Attach(c_);
  Submit(MakeSpec("cpu_gemm"));
  EXPECT_EQ(Latest()->summary.active_campaign_count(), 1);
  EXPECT_EQ(Latest()->summary.stalled_campaign_count(), 0);
  v1::CampaignSpec spec = MakeSpec("cpu_gemm");
  spec.set_repetitions(2);
  Submit(spec);
  const v1::JobSpec running = AssignedTo(agent);
  SayFailed(agent, running, MakeFailure(v1::REASON_BAD_ASSIGNMENT, ""));
  agent->session->OnClosed();
  executor->RunReady();
  executor->Advance(2min);  // Leases expire, and the node counts as absent.
  const SnapshotPointer snapshot = Latest();
  EXPECT_EQ(snapshot->summary.stalled_campaign_count(), snapshot->summary.active_campaign_count());
  EXPECT_GE(snapshot->summary.stalled_campaign_count(), 1);
}

TEST_F(FleetViewTest, ViewersShareASnapshotForAPeriod) {
  Attach(g_);
  const SnapshotPointer first = Latest();
  Attach(c_);
  EXPECT_EQ(Latest(), first);
  const SnapshotPointer second = Next();
  EXPECT_EQ(second->number, first->number + 1);
  EXPECT_THAT(second->rows, SizeIs(2));
}

class FleetChangesTest : public FleetViewTest {
 protected:
  // Returns what a viewer of all nodes has not seen yet.
  FleetChanges::Changes News() {
    const SnapshotPointer snapshot = Next();
    return changes_.Since(*snapshot, snapshot->rows);
  }
  std::vector<std::string> NewNames() {
    std::vector<std::string> names;
    for (const auto& row : News().rows) names.push_back(row->node.name());
    return names;
  }

  FleetChanges changes_;
};

TEST_F(FleetChangesTest, FirstHasAllNodesAndThenOnlyWhatChanged) {
  const auto g = Attach(g_);
  const auto c = Attach(c_);
  EXPECT_THAT(NewNames(), ElementsAre("c", "g"));
  SayState(g, {});
  SayState(c, {});
  const FleetChanges::Changes nothing = News();  // A heartbeat is no news.
  EXPECT_THAT(nothing.rows, IsEmpty());
  EXPECT_THAT(nothing.removed, IsEmpty());
  EXPECT_FALSE(nothing.summary_changed);
  SayTelemetry(g, {Gpu(0, 40)});
  SayState(c, {});
  EXPECT_THAT(NewNames(), ElementsAre("g"));
}

TEST_F(FleetChangesTest, NoiseIsNoChangeButItsSumIs) {
  const auto g = Attach(g_);
  v1::GpuTelemetry gpu = Gpu(0, 40);
  gpu.set_power_watts(100);
  SayTelemetry(g, {gpu});
  EXPECT_THAT(NewNames(), ElementsAre("g"));
  gpu.set_temperature_celsius(42);
  gpu.set_power_watts(103);
  SayTelemetry(g, {gpu});
  EXPECT_THAT(NewNames(), IsEmpty());
  gpu.set_temperature_celsius(43);
  SayTelemetry(g, {gpu});
  EXPECT_THAT(NewNames(), ElementsAre("g"));
  gpu.add_throttle_reasons("hw_slowdown");
  SayTelemetry(g, {gpu});
  EXPECT_THAT(NewNames(), ElementsAre("g"));
}

TEST_F(FleetChangesTest, NodeThatLeavesIsChangedAndThenRemoved) {
  const auto g = Attach(g_);
  News();
  g->session->OnClosed();
  executor->RunReady();
  const FleetChanges::Changes lost = News();
  ASSERT_THAT(lost.rows, SizeIs(1));
  EXPECT_EQ(lost.rows[0]->node.state(), v1::NODE_STATE_DISCONNECTED);
  EXPECT_TRUE(lost.summary_changed);
  executor->Advance(10min);
  ASSERT_TRUE(coordinator->RemoveNode("g").ok());
  const FleetChanges::Changes removed = News();
  EXPECT_THAT(removed.rows, IsEmpty());
  EXPECT_THAT(removed.removed, ElementsAre(g_.description().node_id()));
  EXPECT_THAT(News().removed, IsEmpty());
}

}  // namespace
}  // namespace assay::coordinator
