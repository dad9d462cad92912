#include "coordinator/metrics/fleet_metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "wire/gpu_values.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

struct GpuRow {
  std::string labels;  // 'node="a",gpu="0"', without braces.
  schema::GpuFacts facts;
};

struct NodeRow {
  std::string labels;
  // At least one of these two pointers is set.
  const SessionState* session = nullptr;
  const v1::Node* stored = nullptr;
  bool up = false;
  std::vector<GpuRow> gpus;

  const v1::NodeDescription& description() const {
    return session != nullptr ? *session->node : stored->description();
  }
};

// Appends `,name="value"`. Prometheus treats an empty value like an absent label.
void AddLabel(std::string_view name, std::string_view value, std::string& labels) {
  if (value.empty()) return;
  if (!labels.empty()) labels += ',';
  labels.append(name).append("=\"");
  for (const char c : value) {
    if (c == '\\' || c == '"') labels += '\\';
    if (c == '\n') {
      labels += "\\n";
    } else {
      labels += c;
    }
  }
  labels += '"';
}

// The text of one family of metrics. It is empty if the family has no samples.
class FamilyText {
 public:
  FamilyText(std::string name, const char* help, bool is_counter)
      : name_(std::move(name)), help_(help), is_counter_(is_counter) {}

  void Add(const std::string& labels, double value) { Add(labels, nullptr, {}, value); }
  // Adds a sample. Adds the label `label` to its labels, unless `label` is null.
  void Add(const std::string& labels, const char* label, std::string_view label_value,
           double value) {
    if (text_.empty()) {
      text_ = "# HELP " + name_ + " " + help_ + "\n# TYPE " + name_ +
              (is_counter_ ? " counter\n" : " gauge\n");
    }
    text_ += name_;
    text_ += '{';
    text_ += labels;
    if (label != nullptr) {
      std::string more;
      AddLabel(label, label_value, more);
      text_ += ',';
      text_ += more;
    }
    text_ += "} ";
    std::array<char, 32> number{};
    const auto [end, error] = std::to_chars(number.data(), number.data() + number.size(), value);
    text_.append(number.data(), end);
    text_ += '\n';
  }

  std::string Take() && { return std::move(text_); }

 private:
  const std::string name_;
  const char* const help_;
  const bool is_counter_;
  std::string text_;
};

struct NodeValue {
  const char* name;
  const char* help;
  void (*read)(const NodeRow& node, FamilyText& family);
};

constexpr std::array<NodeValue, 9> kNodeValues = {{
    {"clock_offset_seconds",
     "The agent's clock minus the coordinator's when the agent connected. Absent for old agents.",
     [](const NodeRow& node, FamilyText& family) {
       if (node.session == nullptr || !node.session->clock_offset_seconds) return;
       family.Add(node.labels, *node.session->clock_offset_seconds);
     }},
    {"cordoned", "1 if a person keeps new jobs off the node.",
     [](const NodeRow& node, FamilyText& family) {
       if (node.stored != nullptr) family.Add(node.labels, node.stored->has_cordon() ? 1 : 0);
     }},
    {"info", "What the node is; always 1. The model is that of its first GPU.",
     [](const NodeRow& node, FamilyText& family) {
       const v1::NodeDescription& description = node.description();
       const v1::NodeInventory& inventory = description.inventory();
       std::string labels = node.labels;
       AddLabel("node_id", description.node_id(), labels);
       AddLabel("driver", inventory.driver_version(), labels);
       AddLabel("provider", description.provider(), labels);
       AddLabel("region", description.region(), labels);
       if (!inventory.gpus().empty()) AddLabel("model", inventory.gpus(0).model(), labels);
       AddLabel("gpus", std::to_string(inventory.gpus_size()), labels);
       AddLabel("version", description.agent_version(), labels);
       family.Add(labels, 1);
     }},
    {"last_heartbeat_timestamp_seconds", "When the agent's last heartbeat came.",
     [](const NodeRow& node, FamilyText& family) {
       family.Add(node.labels,
                  schema::SecondsSince1970(
                      node.session != nullptr
                          ? node.session->heard
                          : schema::FromTimestamp(node.stored->last_heartbeat_time())));
     }},
    {"price_dollars_per_hour", "Price of the whole node.",
     [](const NodeRow& node, FamilyText& family) {
       const v1::NodeDescription& description =
           node.stored != nullptr ? node.stored->description() : node.description();
       if (description.has_price_per_hour()) {
         family.Add(node.labels, description.price_per_hour());
       }
     }},
    {"quarantined", "1 if the node gets no jobs because it failed job after job.",
     [](const NodeRow& node, FamilyText& family) {
       if (node.stored == nullptr) return;
       family.Add(node.labels, node.stored->quarantine().empty() ? 0 : 1);
     }},
    {"running_jobs", "Jobs that run on the node.",
     [](const NodeRow& node, FamilyText& family) {
       if (node.stored != nullptr) family.Add(node.labels, node.stored->job_ids_size());
     }},
    {"spool_depth", "Results on the node's disk that the coordinator has not acknowledged.",
     [](const NodeRow& node, FamilyText& family) {
       if (node.session == nullptr || !node.session->spool_depth) return;
       family.Add(node.labels, static_cast<double>(*node.session->spool_depth));
     }},
    {"up", "1 if the node's agent has a session, 0 for an hour after it was lost.",
     [](const NodeRow& node, FamilyText& family) { family.Add(node.labels, node.up ? 1 : 0); }},
}};

std::string GpuInfoLabels(const GpuRow& gpu) {
  std::string labels = gpu.labels;
  if (gpu.facts.inventory == nullptr) return labels;
  AddLabel("uuid", gpu.facts.inventory->uuid(), labels);
  AddLabel("mig_profile", gpu.facts.inventory->mig_profile(), labels);
  return labels;
}

// Fills `node.gpus` with all GPUs in the node's inventory or latest telemetry. The node must have a
// session.
void AddGpus(NodeRow& node) {
  const v1::NodeInventory& inventory = node.description().inventory();
  std::map<int, schema::GpuFacts> by_index;
  for (const v1::GpuInventory& gpu : inventory.gpus()) {
    schema::GpuFacts& facts = by_index[gpu.index()];
    facts.inventory = &gpu;
    facts.nvlinks_expected = schema::ExpectedNvlinks(inventory, gpu);
  }
  if (node.session->gpus) {
    for (const v1::GpuTelemetry& gpu : *node.session->gpus) by_index[gpu.index()].telemetry = &gpu;
  }
  for (const auto& [index, facts] : by_index) {
    std::string labels;
    AddLabel("node", node.description().name(), labels);
    AddLabel("gpu", std::to_string(index), labels);
    if (facts.inventory != nullptr) AddLabel("model", facts.inventory->model(), labels);
    if (inventory.simulated()) AddLabel("simulated", "true", labels);
    node.gpus.push_back({std::move(labels), facts});
  }
}

class Exporter {
 public:
  explicit Exporter(FleetMetricsSources sources) : sources_(std::move(sources)) {
    std::map<std::string, const v1::Node*> stored;  // By node id.
    if (sources_.snapshot) {
      for (const auto& row : sources_.snapshot->rows) stored[row->node.node_id()] = &row->facts;
    }
    std::vector<NodeRow> rows;
    for (const SessionState& session : sources_.sessions) {
      NodeRow& row = rows.emplace_back();
      row.session = &session;
      row.up = sources_.now - session.heard < sources_.silence;
      const auto found = stored.find(session.node->node_id());
      if (found != stored.end()) {
        row.stored = found->second;
        stored.erase(found);
      }
    }
    for (const auto& [node_id, node] : stored) {
      const bool up = node->state() == v1::NODE_STATE_CONNECTED;
      const WallTime heard = schema::FromTimestamp(node->last_heartbeat_time());
      if (!up && sources_.now - heard >= kLostNodeAge) continue;
      NodeRow& row = rows.emplace_back();
      row.stored = node;
      row.up = up;
    }
    std::stable_partition(rows.begin(), rows.end(), [](const NodeRow& row) { return row.up; });
    for (NodeRow& row : rows) Add(std::move(row));
  }

  // Returns the next family that has samples, or "".
  std::string Next() {
    const std::vector<schema::GpuValue>& values = schema::GpuValues();
    std::string text;
    for (; text.empty() && next_ < kNodeValues.size() + 1 + values.size(); ++next_) {
      if (next_ < kNodeValues.size()) {
        text = TextOf(kNodeValues[next_]);
      } else if (next_ == kNodeValues.size()) {
        text = GpuInfo();
      } else {
        text = TextOf(values[next_ - kNodeValues.size() - 1]);
      }
    }
    return text;
  }

 private:
  // Adds a node, unless another with the same name has already been added. Otherwise, Prometheus
  // would receive two conflicting samples with the same labels. A lost node may share its name with
  // another node until the store renames it.
  void Add(NodeRow row) {
    const v1::NodeDescription& description = row.description();
    if (!names_.insert(description.name()).second) return;
    AddLabel("node", description.name(), row.labels);
    if (description.inventory().simulated()) AddLabel("simulated", "true", row.labels);
    if (row.session != nullptr) AddGpus(row);
    nodes_.push_back(std::move(row));
  }

  std::string TextOf(const NodeValue& value) const {
    FamilyText family(std::string("assay_fleet_node_") + value.name, value.help, false);
    for (const NodeRow& node : nodes_) value.read(node, family);
    return std::move(family).Take();
  }

  std::string GpuInfo() const {
    FamilyText family("assay_fleet_gpu_info", "What the GPU is; always 1.", false);
    for (const NodeRow& node : nodes_) {
      for (const GpuRow& gpu : node.gpus) family.Add(GpuInfoLabels(gpu), 1);
    }
    return std::move(family).Take();
  }

  std::string TextOf(const schema::GpuValue& value) const {
    FamilyText family(std::string("assay_fleet_gpu_") + value.name, value.help, value.is_counter);
    const GpuRow* row = nullptr;
    const schema::GpuValue::Add add = [&](std::string_view label_value, double number) {
      family.Add(row->labels, value.label, label_value, number);
    };
    for (const NodeRow& node : nodes_) {
      for (const GpuRow& gpu : node.gpus) {
        row = &gpu;
        value.read(gpu.facts, add);
      }
    }
    return std::move(family).Take();
  }

  const FleetMetricsSources sources_;
  std::set<std::string> names_;
  std::vector<NodeRow> nodes_;
  size_t next_ = 0;
};

}  // namespace

std::function<std::string()> FleetMetrics(FleetMetricsSources sources) {
  return [exporter = std::make_shared<Exporter>(std::move(sources))] { return exporter->Next(); };
}

}  // namespace assay::coordinator
