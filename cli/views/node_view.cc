#include "cli/views/node_view.h"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/views/format.h"
#include "cli/views/output.h"
#include "cli/views/table.h"
#include "common/text.h"

namespace assay::cli {
namespace {

std::string GibiBytes(int64_t bytes) {
  return FormatSignificant(static_cast<double>(bytes) / (int64_t{1} << 30), 3) + " GiB";
}

std::string Supported(const v1::NodeDescription& description) {
  std::vector<std::string> names;
  for (const v1::BenchmarkSchema& schema : description.benchmarks()) {
    if (schema.unsupported_reason().empty()) names.push_back(schema.name());
  }
  return Join(names);
}

// Lists what the checks found, in their order: "throttled_before x8" if eight GPUs have it.
std::string HealthText(const v1::NodeDescription& description) {
  std::vector<std::pair<std::string, int>> checks;
  for (const v1::HealthFinding& finding : description.health()) {
    const auto known = std::find_if(checks.begin(), checks.end(),
                                    [&](const auto& one) { return one.first == finding.check(); });
    if (known == checks.end()) {
      checks.emplace_back(finding.check(), 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [check, count] : checks) {
    parts.push_back(check + (count > 1 ? " x" + std::to_string(count) : ""));
  }
  return Join(parts);
}

Cell StateCell(const v1::Node& node) {
  const bool busy = !node.job_ids().empty();
  const std::string cordon = !node.has_cordon()                           ? ""
                             : busy && node.cordon().has_drain_deadline() ? "draining"
                                                                          : "cordoned";
  const std::string also = cordon.empty() ? "" : ", " + cordon;
  if (node.state() != v1::NODE_STATE_CONNECTED) return {"disconnected" + also, Tone::kBad};
  if (!node.quarantine().empty()) return {"quarantined" + also, Tone::kBad};
  if (cordon == "cordoned" && busy) return {"busy, cordoned", Tone::kDoubtful};
  if (!cordon.empty()) return {cordon, Tone::kDoubtful};
  return node.job_ids().empty() ? Cell("idle", Tone::kGood) : Cell("busy", Tone::kPlain);
}

// Returns since when and why the node is cordoned; empty if it is not.
std::string CordonText(const v1::Node& node) {
  if (!node.has_cordon()) return "";
  const v1::Cordon& cordon = node.cordon();
  std::string text = "since " + FormatTime(cordon.time());
  if (!cordon.cordoned_by().empty()) text += ", by " + cordon.cordoned_by();
  if (!cordon.reason().empty()) text += ": " + cordon.reason();
  text += "; it gets no new jobs";
  if (cordon.has_drain_deadline()) {
    text += ", and jobs that still run at " + FormatTime(cordon.drain_deadline()) +
            " are stopped and queued again";
  }
  return text + ". To end this: assay node uncordon " + node.description().name();
}

// Returns the labels and the price that operators have set or removed.
std::string OperatorText(const v1::NodeSettings& settings) {
  std::vector<std::string> set;
  for (const auto& [key, value] : settings.labels()) set.push_back("label " + key);
  std::sort(set.begin(), set.end());
  if (settings.has_price_per_hour()) set.emplace_back("the price");
  std::vector<std::string> parts;
  if (!set.empty()) parts.push_back("set " + Join(set));
  const auto& removed = settings.removed_labels();
  if (!removed.empty()) {
    parts.push_back("removed " + Plural(removed.size(), "label") + " " + Join(removed));
  }
  return Join(parts, "; ");
}

std::string Label(const std::string& name) {
  constexpr size_t kNameWidth = 12;
  return name + ":" + std::string(kNameWidth - name.size(), ' ');
}

// Appends lines of the form "Name:  value".
class Lines {
 public:
  Lines(std::string& text, const Style& style) : text_(text), width_(style.width) {}
  void operator()(const std::string& name, const std::string& value) {
    const std::string label = Label(name);
    if (value.empty()) return;
    text_ += Wrap(label + Sanitize(value), width_, static_cast<int>(label.size())) + "\n";
  }

 private:
  std::string& text_;
  int width_;
};

std::string CpuOf(const v1::CpuInventory& cpu) {
  std::string text = cpu.model();
  if (cpu.cores() > 0) {
    text += ", " + std::to_string(cpu.cores()) + " cores, " + std::to_string(cpu.threads()) +
            " threads";
  }
  if (cpu.sockets() > 1) text += ", " + std::to_string(cpu.sockets()) + " sockets";
  if (!cpu.vector_isa().empty()) text += ", " + cpu.vector_isa();
  return text;
}

std::string SoftwareOf(const v1::NodeInventory& inventory) {
  std::vector<std::string> parts;
  const v1::SoftwareVersions& software = inventory.software();
  if (inventory.has_driver_version()) parts.push_back("driver " + inventory.driver_version());
  if (software.has_cuda_runtime()) parts.push_back("CUDA " + software.cuda_runtime());
  if (software.has_cublas()) parts.push_back("cuBLAS " + software.cublas());
  if (software.has_nccl()) parts.push_back("NCCL " + software.nccl());
  if (software.has_blas()) parts.push_back(software.blas());
  return Join(parts);
}

// Returns "5 x16", with the maximum if that is higher.
std::string PcieOf(const v1::GpuInventory& gpu) {
  if (!gpu.has_pcie_generation() || !gpu.has_pcie_width()) return "";
  std::string text =
      std::to_string(gpu.pcie_generation()) + " x" + std::to_string(gpu.pcie_width());
  if (gpu.has_pcie_width_max() && gpu.pcie_width_max() > gpu.pcie_width()) {
    text += " of x" + std::to_string(gpu.pcie_width_max());
  }
  return text;
}

std::string GpuTable(const v1::NodeInventory& inventory, const Style& style) {
  Table table({{"GPU", Align::kRight},
               {"NAME"},
               {"MEMORY", Align::kRight},
               {"POWER", Align::kRight, 2},
               {"PCIE", Align::kLeft, 3},
               {"NVLINKS", Align::kRight, 3},
               {"ECC", Align::kLeft, 4},
               {"MIG", Align::kLeft, 1},
               {"UUID", Align::kLeft, 5}});
  for (const v1::GpuInventory& gpu : inventory.gpus()) {
    table.Add(
        {std::to_string(gpu.index()), gpu.name(),
         gpu.has_memory_bytes() ? GibiBytes(gpu.memory_bytes()) : "",
         gpu.has_power_limit_watts() ? FormatSignificant(gpu.power_limit_watts(), 3) + " W" : "",
         PcieOf(gpu), gpu.has_nvlinks_active() ? std::to_string(gpu.nvlinks_active()) : "",
         gpu.has_ecc_enabled() ? (gpu.ecc_enabled() ? "on" : "off") : "", gpu.mig_profile(),
         gpu.uuid()});
  }
  return table.Render(style);
}

// Returns the state of the GPUs at the last heartbeat.
std::string TelemetryTable(const google::protobuf::RepeatedPtrField<v1::GpuTelemetry>& gpus,
                           const Style& style) {
  Table table({{"GPU", Align::kRight},
               {"TEMP", Align::kRight},
               {"POWER", Align::kRight},
               {"SM CLOCK", Align::kRight},
               {"LOAD", Align::kRight, 1},
               {"MEMORY USED", Align::kRight, 2},
               {"ECC", Align::kLeft, 3},
               {"STATE"}});
  for (const v1::GpuTelemetry& gpu : gpus) {
    std::string power = gpu.has_power_watts() ? FormatFixed(gpu.power_watts(), 0) : "";
    if (!power.empty() && gpu.has_power_limit_watts()) {
      power += " of " + FormatFixed(gpu.power_limit_watts(), 0);
    }
    if (!power.empty()) power += " W";
    const bool uncorrected = gpu.ecc_uncorrected() > 0;
    const std::string ecc = !gpu.has_ecc_uncorrected() ? ""
                            : uncorrected ? std::to_string(gpu.ecc_uncorrected()) + " uncorrected"
                                          : std::to_string(gpu.ecc_corrected()) + " corrected";
    std::vector<std::string> state(gpu.throttle_reasons().begin(), gpu.throttle_reasons().end());
    if (gpu.has_last_xid()) {
      state.push_back("Xid " + std::to_string(gpu.last_xid()) +
                      (gpu.has_last_xid_time() ? " at " + FormatTime(gpu.last_xid_time()) : ""));
    }
    if (gpu.row_remap_failed()) state.emplace_back("row remap failed");
    if (gpu.row_remap_pending()) state.emplace_back("row remap pending");
    table.Add(
        {std::to_string(gpu.index()),
         gpu.has_temperature_celsius() ? FormatFixed(gpu.temperature_celsius(), 0) + " C" : "",
         power, gpu.has_sm_clock_mhz() ? FormatFixed(gpu.sm_clock_mhz(), 0) + " MHz" : "",
         gpu.has_utilization() ? FormatFixed(100 * gpu.utilization(), 0) + "%" : "",
         gpu.has_memory_used_bytes() ? GibiBytes(gpu.memory_used_bytes()) : "",
         Cell(ecc, uncorrected ? Tone::kBad : Tone::kPlain), Cell(Join(state), Tone::kDoubtful)});
  }
  return table.Render(style);
}

// Returns the names and values of a node's CSV record.
std::vector<std::pair<std::string, std::string>> NodeFields(const v1::Node& node) {
  const v1::NodeDescription& d = node.description();
  const v1::NodeInventory& i = d.inventory();
  std::vector<std::string> models;
  for (const v1::GpuInventory& gpu : i.gpus()) models.push_back(gpu.model());
  return {{"node_id", d.node_id()},
          {"name", d.name()},
          {"state", v1::NodeState_Name(node.state())},
          {"hostname", i.hostname()},
          {"gpu_count", std::to_string(i.gpus_size())},
          {"gpu_models", Join(models)},
          {"cpu_model", i.cpu().model()},
          {"cpu_cores", std::to_string(i.cpu().cores())},
          {"memory_bytes", i.has_memory_bytes() ? std::to_string(i.memory_bytes()) : ""},
          {"kernel", i.kernel()},
          {"os", i.os()},
          {"driver", i.driver_version()},
          {"cuda", i.software().cuda_runtime()},
          {"nccl", i.software().nccl()},
          {"provider", d.provider()},
          {"region", d.region()},
          {"price_per_hour", d.has_price_per_hour() ? FormatExact(d.price_per_hour()) : ""},
          {"labels", LabelText(d, ";")},
          {"benchmarks", Supported(d)},
          {"running_jobs", std::to_string(node.job_ids_size())},
          {"agent_version", d.agent_version()},
          {"dial_address", node.dial_address()},
          {"quarantine", node.quarantine()},
          {"simulated", i.simulated() ? "true" : "false"},
          {"first_seen_time", FormatTimeExact(node.first_seen_time())},
          {"last_heartbeat_time", FormatTimeExact(node.last_heartbeat_time())},
          {"cordon_time", FormatTimeExact(node.cordon().time())},
          {"cordon_reason", node.cordon().reason()},
          {"cordoned_by", node.cordon().cordoned_by()},
          {"drain_deadline", FormatTimeExact(node.cordon().drain_deadline())}};
}

}  // namespace

std::string HardwareOf(const v1::NodeInventory& inventory) {
  if (inventory.gpus().empty()) return Sanitize(inventory.cpu().model());
  // GPU models in the order of their first index.
  std::vector<std::pair<std::string, int>> kinds;
  for (const v1::GpuInventory& gpu : inventory.gpus()) {
    const std::string kind =
        gpu.model() + (gpu.form_factor().empty() ? "" : " " + gpu.form_factor());
    if (kinds.empty() || kinds.back().first != kind) kinds.emplace_back(kind, 0);
    ++kinds.back().second;
  }
  std::vector<std::string> parts;
  for (const auto& [kind, count] : kinds) parts.push_back(std::to_string(count) + "x " + kind);
  return Sanitize(Join(parts));
}

std::string LabelText(const v1::NodeDescription& description, const char* separator) {
  const std::map<std::string, std::string> sorted(description.labels().begin(),
                                                  description.labels().end());
  std::string text;
  for (const auto& [key, value] : sorted)
    text += (text.empty() ? "" : separator) + key + "=" + value;
  return text;
}

std::string HourlyPrice(const v1::NodeDescription& description) {
  return description.has_price_per_hour()
             ? "$" + FormatFixed(description.price_per_hour(), 2) + "/h"
             : "";
}

Table NodeTable(const std::vector<v1::Node>& nodes) {
  Table table({{"NAME"},
               {"STATE"},
               {"HARDWARE"},
               {"DRIVER", Align::kLeft, 2},
               {"PROVIDER", Align::kLeft, 3},
               {"REGION", Align::kLeft, 5},
               {"PRICE", Align::kRight, 4},
               {"LABELS", Align::kLeft, 5},
               {"HEALTH", Align::kLeft, 1},
               {"LAST SEEN", Align::kLeft, 3}});
  for (const v1::Node& node : nodes) {
    const v1::NodeDescription& description = node.description();
    const std::string simulated = description.inventory().simulated() ? " (simulated)" : "";
    table.Add({description.name(), StateCell(node), HardwareOf(description.inventory()) + simulated,
               description.inventory().driver_version(), description.provider(),
               description.region(), HourlyPrice(description), LabelText(description, " "),
               Cell(HealthText(description), Tone::kDoubtful),
               FormatTime(node.last_heartbeat_time())});
  }
  return table;
}

std::string NodeCsv(const std::vector<v1::Node>& nodes) {
  std::vector<std::string> names;
  for (const auto& [name, value] : NodeFields(v1::Node())) names.push_back(name);
  std::string csv = CsvRecord(names);
  for (const v1::Node& node : nodes) {
    std::vector<std::string> values;
    for (const auto& [name, value] : NodeFields(node)) values.push_back(value);
    csv += CsvRecord(values);
  }
  return csv;
}

std::string DescribeNode(const v1::Node& node, const std::vector<v1::StoredResult>& transfers,
                         const Style& style) {
  const v1::NodeDescription& description = node.description();
  const v1::NodeInventory& inventory = description.inventory();
  std::string text;
  Lines line(text, style);
  line("Node", description.name() + " (" + description.node_id() + ")" +
                   (inventory.simulated() ? ", simulated" : ""));
  const Cell state = StateCell(node);
  text += Label("State") + Paint(state.text, state.tone, style.colour) + "\n";
  if (!node.quarantine().empty()) {
    line("Quarantine", "since " + FormatTime(node.quarantine_time()) + ": " + node.quarantine() +
                           "; it gets no jobs until a check of it passes. To check it now, restart "
                           "its agent");
  }
  line("Cordon", CordonText(node));
  line("Last seen", FormatTime(node.last_heartbeat_time()));
  line("Dialled at", node.dial_address());
  line("Jobs", Join({node.job_ids().begin(), node.job_ids().end()}));
  line("Host", inventory.hostname());
  line("System",
       inventory.os() + (inventory.kernel().empty() ? "" : ", Linux " + inventory.kernel()));
  line("CPU", CpuOf(inventory.cpu()));
  if (inventory.has_memory_bytes()) line("Memory", GibiBytes(inventory.memory_bytes()));
  line("Software", SoftwareOf(inventory));
  line("Agent", description.agent_version());
  line("Provider",
       description.provider() + (description.region().empty() ? "" : " " + description.region()));
  line("Price", HourlyPrice(description));
  line("Labels", LabelText(description, ", "));
  line("Operators", OperatorText(node.settings()));
  if (!inventory.gpus().empty()) text += "\n" + GpuTable(inventory, style);
  if (!node.telemetry().empty()) {
    text += "\nAt the last heartbeat:\n" + TelemetryTable(node.telemetry(), style);
  }
  for (const std::string& matrix :
       {TopologyText(inventory, style), MeasuredLinks(inventory, transfers, style)}) {
    if (!matrix.empty()) text += "\n" + matrix;
  }
  Table benchmarks({{"BENCHMARK"}, {"CAN RUN"}});
  for (const v1::BenchmarkSchema& schema : description.benchmarks()) {
    const bool supported = schema.unsupported_reason().empty();
    benchmarks.Add({schema.name(), supported
                                       ? Cell("yes", Tone::kGood)
                                       : Cell("no: " + schema.unsupported_reason(), Tone::kDim)});
  }
  if (!benchmarks.empty()) text += "\n" + benchmarks.Render(style);
  if (!description.health().empty()) text += "\nHealth:\n";
  for (const v1::HealthFinding& finding : description.health()) {
    const bool error = finding.severity() == v1::HealthFinding::SEVERITY_ERROR;
    text +=
        Paint(error ? "ERROR  " : "warning  ", error ? Tone::kBad : Tone::kDoubtful, style.colour) +
        Sanitize(finding.check()) + ": " + Sanitize(finding.message()) + "\n";
  }
  return text;
}

}  // namespace assay::cli
