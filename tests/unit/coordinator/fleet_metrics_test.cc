// The metrics of nodes and GPUs, as they are exported.
#include "coordinator/metrics/fleet_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const WallTime kNow = WallTime(std::chrono::seconds(1'767'225'600));

class FleetMetricsTest : public ::testing::Test {
 protected:
  FleetMetricsTest() {
    sources_.now = kNow;
    sources_.silence = 25s;
    description_.set_node_id("id-a");
    description_.set_name("a");
    for (int i = 0; i < 2; ++i) {
      v1::GpuInventory& gpu = *description_.mutable_inventory()->add_gpus();
      gpu.set_index(i);
      gpu.set_model("H200");
      gpu.set_uuid("GPU-" + std::to_string(i));
    }
  }

  // Adds a session of the node that `description_` describes.
  SessionState& AddSession(const std::vector<v1::GpuTelemetry>& gpus = {}) {
    SessionState& session = sources_.sessions.emplace_back();
    session.node = std::make_shared<const v1::NodeDescription>(description_);
    session.heard = kNow - 2s;
    if (!gpus.empty()) session.gpus = std::make_shared<const std::vector<v1::GpuTelemetry>>(gpus);
    return session;
  }

  // Adds a node to the database's state of the fleet and returns it for changes.
  v1::Node& AddStored(const std::string& node_id, const std::string& name, v1::NodeState state,
                      Duration ago) {
    if (!snapshot_) {
      snapshot_ = std::make_shared<FleetView::Snapshot>();
      sources_.snapshot = snapshot_;
    }
    auto row = std::make_shared<FleetView::Row>();
    row->node.set_node_id(node_id);
    row->facts.mutable_description()->set_node_id(node_id);
    row->facts.mutable_description()->set_name(name);
    row->facts.set_state(state);
    *row->facts.mutable_last_heartbeat_time() = schema::ToTimestamp(kNow - ago);
    snapshot_->rows.push_back(row);
    return row->facts;
  }

  std::string Text() const {
    const auto next = FleetMetrics(sources_);
    std::string text;
    for (std::string part; !(part = next()).empty();) text += part;
    return text;
  }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    std::istringstream text(Text());
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }

  FleetMetricsSources sources_;
  std::shared_ptr<FleetView::Snapshot> snapshot_;
  v1::NodeDescription description_;
};

TEST_F(FleetMetricsTest, NodeInSessionHasWhatSessionAndDatabaseKnow) {
  description_.set_provider("lambda");
  description_.set_region("us-east-1");
  description_.set_agent_version("1.2.3");
  description_.mutable_inventory()->set_driver_version("580.95.05");
  SessionState& session = AddSession();
  session.spool_depth = 7;
  session.clock_offset_seconds = -3.5;
  v1::Node& stored = AddStored("id-a", "a", v1::NODE_STATE_CONNECTED, 4s);
  stored.add_job_ids("job");
  stored.mutable_cordon();
  stored.set_quarantine("three jobs failed");
  stored.mutable_description()->set_price_per_hour(23.9);
  const std::vector<std::string> lines = Lines();
  EXPECT_THAT(lines, Contains(R"(assay_fleet_node_info{node="a",node_id="id-a",)"
                              R"(driver="580.95.05",provider="lambda",region="us-east-1",)"
                              R"(model="H200",gpus="2",version="1.2.3"} 1)"));
  EXPECT_THAT(lines, Contains(R"(assay_fleet_node_up{node="a"} 1)"));
  EXPECT_THAT(lines, Contains(R"(assay_fleet_node_last_heartbeat_timestamp_seconds{node="a"} )"
                              "1767225598"));
  EXPECT_THAT(lines, Contains(R"(assay_fleet_node_spool_depth{node="a"} 7)"));
  EXPECT_THAT(lines, Contains(R"(assay_fleet_node_clock_offset_seconds{node="a"} -3.5)"));
  EXPECT_THAT(lines, Contains(R"(assay_fleet_node_running_jobs{node="a"} 1)"));
  EXPECT_THAT(lines, Contains(R"(assay_fleet_node_cordoned{node="a"} 1)"));
  EXPECT_THAT(lines, Contains(R"(assay_fleet_node_quarantined{node="a"} 1)"));
  EXPECT_THAT(lines, Contains(R"(assay_fleet_node_price_dollars_per_hour{node="a"} 23.9)"));
  EXPECT_THAT(lines, Contains(R"(assay_fleet_gpu_info{node="a",gpu="1",model="H200",)"
                              R"(uuid="GPU-1"} 1)"));
  EXPECT_THAT(lines, Contains("# TYPE assay_fleet_node_up gauge"));
}

TEST_F(FleetMetricsTest, GpuHasWhatInventoryAndTelemetryKnow) {
  v1::GpuInventory& inventory = *description_.mutable_inventory()->mutable_gpus(0);
  inventory.set_memory_bytes(150'754'820'096);
  inventory.set_sm_clock_max_mhz(1980);
  inventory.set_slowdown_celsius(87);
  inventory.set_nvlinks_active(17);
  description_.mutable_inventory()->mutable_gpus(1)->set_nvlinks_active(18);
  v1::GpuTelemetry gpu;
  gpu.set_temperature_celsius(61);
  gpu.add_throttle_reasons("hw_slowdown");
  gpu.set_ecc_uncorrected(1);
  gpu.set_rows_remapped_correctable(2);
  gpu.set_rows_remapped_uncorrectable(3);
  gpu.set_row_remap_pending(true);
  gpu.set_row_remap_failed(false);
  gpu.set_pcie_replays(4);
  gpu.set_nvlink_errors(5);
  gpu.set_nvlinks_active(16);
  gpu.set_last_xid(94);
  *gpu.mutable_last_xid_time() = schema::ToTimestamp(kNow - 1h);
  v1::ThrottleTime& time = *gpu.add_throttle_times();
  time.set_reason("thermal");
  time.set_seconds(1.5);
  AddSession({gpu});
  const std::vector<std::string> lines = Lines();
  const auto has = [&](const std::string& name, const std::string& label,
                       const std::string& value) {
    EXPECT_THAT(lines, Contains("assay_fleet_gpu_" + name + R"({node="a",gpu="0",model="H200")" +
                                label + "} " + value));
  };
  has("temperature_celsius", "", "61");
  has("slowdown_temperature_celsius", "", "87");
  has("memory_size_bytes", "", "150754820096");
  has("sm_clock_max_hertz", "", "1.98e+09");
  has("throttle_active", R"(,reason="hw_slowdown")", "1");
  has("throttle_seconds_total", R"(,reason="thermal")", "1.5");
  has("ecc_errors_total", R"(,kind="uncorrected")", "1");
  has("remapped_rows_total", R"(,kind="correctable")", "2");
  has("remapped_rows_total", R"(,kind="uncorrectable")", "3");
  has("row_remap_pending", "", "1");
  has("row_remap_failed", "", "0");
  has("pcie_replays_total", "", "4");
  has("nvlink_errors_total", "", "5");
  has("nvlinks_active", "", "16");
  has("nvlinks_expected", "", "18");
  has("last_xid", "", "94");
  has("last_xid_timestamp_seconds", "", "1767222000");
  EXPECT_THAT(lines, Contains("# TYPE assay_fleet_gpu_pcie_replays_total counter"));
}

// An old agent sends a temperature and no clock, counters or links.
TEST_F(FleetMetricsTest, OldAgentHasFewerSeries) {
  v1::GpuTelemetry gpu;
  gpu.set_temperature_celsius(61);
  AddSession({gpu});
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("assay_fleet_gpu_temperature_celsius{"));
  for (const char* absent :
       {"clock_offset", "spool_depth", "remapped", "replays", "nvlink", "xid", "slowdown"}) {
    EXPECT_THAT(text, Not(HasSubstr(absent)));
  }
}

TEST_F(FleetMetricsTest, LostNodeIsDownForAnHour) {
  AddStored("id-l", "lost", v1::NODE_STATE_DISCONNECTED, 59min);
  AddStored("id-g", "gone", v1::NODE_STATE_DISCONNECTED, 1h);
  const std::vector<std::string> lines = Lines();
  EXPECT_THAT(lines, Contains(R"(assay_fleet_node_up{node="lost"} 0)"));
  EXPECT_THAT(lines, Contains(StartsWith(R"(assay_fleet_node_info{node="lost",node_id="id-l")")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("gone"))));
}

TEST_F(FleetMetricsTest, SilentSessionIsDown) {
  AddSession().heard = kNow - 25s;
  EXPECT_THAT(Lines(), Contains(R"(assay_fleet_node_up{node="a"} 0)"));
}

TEST_F(FleetMetricsTest, WithoutDatabase_GpusAreExported) {
  v1::GpuTelemetry gpu;
  gpu.set_power_watts(700);
  AddSession({gpu});
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("assay_fleet_gpu_power_watts{"));
  EXPECT_THAT(text, HasSubstr("assay_fleet_node_up{"));
  EXPECT_THAT(text, Not(HasSubstr("assay_fleet_node_running_jobs{")));
}

TEST_F(FleetMetricsTest, SimulatedNodesHaveALabel) {
  v1::GpuTelemetry gpu;
  gpu.set_last_xid(79);
  AddSession({gpu});
  EXPECT_THAT(Text(), Not(HasSubstr("simulated")));
  sources_.sessions.clear();
  description_.mutable_inventory()->set_simulated(true);
  AddSession({gpu});
  EXPECT_THAT(Text(), HasSubstr(R"(,simulated="true"} 79)"));
  EXPECT_THAT(Text(), HasSubstr(R"(assay_fleet_node_up{node="a",simulated="true"} 1)"));
}

TEST_F(FleetMetricsTest, NoTwoSamplesHaveEqualLabels) {
  AddSession().heard = kNow - 1min;
  description_.set_node_id("id-b");
  description_.mutable_inventory()->add_gpus()->set_index(1);  // The index of another GPU.
  AddSession();
  AddStored("id-c", "a", v1::NODE_STATE_DISCONNECTED, 5min);
  std::set<std::string> seen;
  for (const std::string& line : Lines()) {
    EXPECT_TRUE(seen.insert(line.substr(0, line.rfind(' '))).second || line[0] == '#') << line;
  }
  EXPECT_TRUE(seen.contains(R"(assay_fleet_node_up{node="a"})"));
  EXPECT_THAT(Lines(), Contains(R"(assay_fleet_node_up{node="a"} 1)"));
}

TEST_F(FleetMetricsTest, TextsOfPeersAreEscaped) {
  description_.set_region("a\"b\\c\nd");
  AddSession();
  EXPECT_THAT(Text(), HasSubstr(R"(region="a\"b\\c\nd")"));
}

}  // namespace
}  // namespace assay::coordinator
