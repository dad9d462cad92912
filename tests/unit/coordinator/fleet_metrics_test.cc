// The metrics of nodes and GPUs, as they are exported.
#include "coordinator/metrics/fleet_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/text.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Pair;

const WallTime kNow = WallTime(std::chrono::seconds(1'767'225'600));

using Labels = std::map<std::string, std::string>;

// An export in the text format of Prometheus.
class Export {
 public:
  // A line that does not match the format, and a second sample with equal labels, fail the test.
  explicit Export(std::string_view text) {
    EXPECT_TRUE(text.empty() || text.ends_with('\n'));
    for (const std::string_view line : Split(text, '\n')) {
      if (!line.empty()) EXPECT_TRUE(Read(line)) << line;
    }
  }

  const std::map<std::string, std::string>& types() const { return types_; }

  // Returns the values of a family by their labels.
  std::map<Labels, double> Family(const std::string& family) const {
    const auto found = samples_.find(family);
    return found == samples_.end() ? std::map<Labels, double>() : found->second;
  }

  // Returns the families that have samples.
  std::vector<std::string> Families() const {
    std::vector<std::string> families;
    for (const auto& [family, values] : samples_) families.push_back(family);
    return families;
  }

  // Returns NaN if no sample has exactly these labels.
  double Value(const std::string& family, const Labels& labels) const {
    const std::map<Labels, double> values = Family(family);
    const auto found = values.find(labels);
    return found == values.end() ? std::nan("") : found->second;
  }

  // Returns all values that a label has in any sample.
  std::set<std::string> LabelValues(const std::string& label) const {
    std::set<std::string> found;
    for (const auto& [family, values] : samples_) {
      for (const auto& [labels, value] : values) {
        if (labels.contains(label)) found.insert(labels.at(label));
      }
    }
    return found;
  }

 private:
  // Returns true if the line is a comment, or a sample that no earlier one contradicts.
  bool Read(std::string_view line) {
    if (line.starts_with('#')) {
      const auto words = Split(line, ' ');
      if (words.size() < 4) return false;
      if (words[1] == "HELP") return true;
      return words[1] == "TYPE" && types_.emplace(words[2], words[3]).second;
    }
    const size_t brace = line.find('{');
    if (brace == line.npos) return false;
    const std::string family(line.substr(0, brace));
    line.remove_prefix(brace + 1);
    Labels labels;
    double value = 0;
    if (!ReadLabels(line, labels) || !line.starts_with(' ')) return false;
    const char* const end = line.data() + line.size();
    const auto [rest, error] = std::from_chars(line.data() + 1, end, value);
    return error == std::errc() && rest == end && samples_[family].emplace(labels, value).second;
  }

  // Removes `name="value",...}` from the start of `text`.
  static bool ReadLabels(std::string_view& text, Labels& labels) {
    for (bool more = true; more;) {
      const size_t equals = text.find("=\"");
      if (equals == text.npos) return false;
      const std::string name(text.substr(0, equals));
      text.remove_prefix(equals + 2);
      std::string value;
      for (; !text.starts_with('"'); text.remove_prefix(1)) {
        if (text.starts_with('\\')) {
          text.remove_prefix(1);
          if (text.empty() || std::string_view("\\\"n").find(text[0]) == text.npos) return false;
          value += text[0] == 'n' ? '\n' : text[0];
        } else {
          if (text.empty()) return false;
          value += text[0];
        }
      }
      text.remove_prefix(1);
      if (!labels.emplace(name, value).second || text.empty()) return false;
      more = text[0] == ',';
      if (!more && text[0] != '}') return false;
      text.remove_prefix(1);
    }
    return true;
  }

  std::map<std::string, std::string> types_;                 // By family.
  std::map<std::string, std::map<Labels, double>> samples_;  // By family.
};

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

  Export Exported() const {
    const auto next = FleetMetrics(sources_);
    std::string text;
    for (std::string part; !(part = next()).empty();) text += part;
    return Export(text);
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
  const Export got = Exported();
  const auto value = [&](const std::string& name) {
    return got.Value("assay_fleet_node_" + name, {{"node", "a"}});
  };
  EXPECT_EQ(got.Value("assay_fleet_node_info", {{"node", "a"},
                                                {"node_id", "id-a"},
                                                {"driver", "580.95.05"},
                                                {"provider", "lambda"},
                                                {"region", "us-east-1"},
                                                {"model", "H200"},
                                                {"gpus", "2"},
                                                {"version", "1.2.3"}}),
            1);
  EXPECT_EQ(value("up"), 1);
  EXPECT_EQ(value("last_heartbeat_timestamp_seconds"), 1767225598);
  EXPECT_EQ(value("spool_depth"), 7);
  EXPECT_EQ(value("clock_offset_seconds"), -3.5);
  EXPECT_EQ(value("running_jobs"), 1);
  EXPECT_EQ(value("cordoned"), 1);
  EXPECT_EQ(value("quarantined"), 1);
  EXPECT_EQ(value("price_dollars_per_hour"), 23.9);
  EXPECT_EQ(got.Value("assay_fleet_gpu_info",
                      {{"node", "a"}, {"gpu", "1"}, {"model", "H200"}, {"uuid", "GPU-1"}}),
            1);
  EXPECT_EQ(got.types().at("assay_fleet_node_up"), "gauge");
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
  const Export got = Exported();
  const Labels labels = {{"node", "a"}, {"gpu", "0"}, {"model", "H200"}};
  const auto value = [&](const std::string& name) {
    return got.Value("assay_fleet_gpu_" + name, labels);
  };
  const auto value_of = [&](const std::string& name, const std::string& label,
                            const std::string& label_value) {
    Labels more = labels;
    more[label] = label_value;
    return got.Value("assay_fleet_gpu_" + name, more);
  };
  EXPECT_EQ(value("temperature_celsius"), 61);
  EXPECT_EQ(value("slowdown_temperature_celsius"), 87);
  EXPECT_EQ(value("memory_size_bytes"), 150'754'820'096);
  EXPECT_EQ(value("sm_clock_max_hertz"), 1.98e9);
  EXPECT_EQ(value_of("throttle_active", "reason", "hw_slowdown"), 1);
  EXPECT_EQ(value_of("throttle_seconds_total", "reason", "thermal"), 1.5);
  EXPECT_EQ(value_of("ecc_errors_total", "kind", "uncorrected"), 1);
  EXPECT_EQ(value_of("remapped_rows_total", "kind", "correctable"), 2);
  EXPECT_EQ(value_of("remapped_rows_total", "kind", "uncorrectable"), 3);
  EXPECT_EQ(value("row_remap_pending"), 1);
  EXPECT_EQ(value("row_remap_failed"), 0);
  EXPECT_EQ(value("pcie_replays_total"), 4);
  EXPECT_EQ(value("nvlink_errors_total"), 5);
  EXPECT_EQ(value("nvlinks_active"), 16);
  EXPECT_EQ(value("nvlinks_expected"), 18);
  EXPECT_EQ(value("last_xid"), 94);
  EXPECT_EQ(value("last_xid_timestamp_seconds"), 1767222000);
  EXPECT_EQ(got.types().at("assay_fleet_gpu_pcie_replays_total"), "counter");
}

// An old agent sends a temperature and no clock, counters or links.
TEST_F(FleetMetricsTest, OldAgentHasFewerSeries) {
  v1::GpuTelemetry gpu;
  gpu.set_temperature_celsius(61);
  AddSession({gpu});
  const Export got = Exported();
  EXPECT_THAT(
      got.Families(),
      ElementsAre("assay_fleet_gpu_info", "assay_fleet_gpu_temperature_celsius",
                  "assay_fleet_node_info", "assay_fleet_node_last_heartbeat_timestamp_seconds",
                  "assay_fleet_node_up"));
  EXPECT_EQ(got.types().size(), got.Families().size());
}

TEST_F(FleetMetricsTest, LostNodeIsDownForAnHour) {
  AddStored("id-l", "lost", v1::NODE_STATE_DISCONNECTED, 59min);
  AddStored("id-g", "gone", v1::NODE_STATE_DISCONNECTED, 1h);
  const Export got = Exported();
  EXPECT_THAT(got.Family("assay_fleet_node_up"), ElementsAre(Pair(Labels{{"node", "lost"}}, 0)));
  EXPECT_THAT(got.Family("assay_fleet_node_info"),
              ElementsAre(Pair(IsSupersetOf(Labels{{"node", "lost"}, {"node_id", "id-l"}}), 1)));
  EXPECT_THAT(got.LabelValues("node"), ElementsAre("lost"));
}

TEST_F(FleetMetricsTest, SilentSessionIsDown) {
  AddSession().heard = kNow - 25s;
  EXPECT_EQ(Exported().Value("assay_fleet_node_up", {{"node", "a"}}), 0);
}

TEST_F(FleetMetricsTest, WithoutDatabase_GpusAreExported) {
  v1::GpuTelemetry gpu;
  gpu.set_power_watts(700);
  AddSession({gpu});
  const Export got = Exported();
  const Labels labels = {{"node", "a"}, {"gpu", "0"}, {"model", "H200"}};
  EXPECT_EQ(got.Value("assay_fleet_gpu_power_watts", labels), 700);
  EXPECT_EQ(got.Value("assay_fleet_node_up", {{"node", "a"}}), 1);
  EXPECT_THAT(got.Family("assay_fleet_node_running_jobs"), IsEmpty());
}

TEST_F(FleetMetricsTest, SimulatedNodesHaveALabel) {
  v1::GpuTelemetry gpu;
  gpu.set_last_xid(79);
  AddSession({gpu});
  EXPECT_THAT(Exported().LabelValues("simulated"), IsEmpty());
  sources_.sessions.clear();
  description_.mutable_inventory()->set_simulated(true);
  AddSession({gpu});
  const Export got = Exported();
  const Labels labels = {{"node", "a"}, {"gpu", "0"}, {"model", "H200"}, {"simulated", "true"}};
  EXPECT_EQ(got.Value("assay_fleet_gpu_last_xid", labels), 79);
  EXPECT_EQ(got.Value("assay_fleet_node_up", {{"node", "a"}, {"simulated", "true"}}), 1);
}

// Export's constructor checks that no two samples have equal labels.
TEST_F(FleetMetricsTest, NoTwoSamplesHaveEqualLabels) {
  AddSession().heard = kNow - 1min;
  description_.set_node_id("id-b");
  description_.mutable_inventory()->add_gpus()->set_index(1);  // The index of another GPU.
  AddSession();
  AddStored("id-c", "a", v1::NODE_STATE_DISCONNECTED, 5min);
  EXPECT_THAT(Exported().Family("assay_fleet_node_up"),
              ElementsAre(Pair(Labels{{"node", "a"}}, 1)));
}

TEST_F(FleetMetricsTest, TextsOfPeersAreEscaped) {
  description_.set_region("a\"b\\c\nd");
  AddSession();
  EXPECT_THAT(Exported().LabelValues("region"), ElementsAre("a\"b\\c\nd"));
}

}  // namespace
}  // namespace assay::coordinator
