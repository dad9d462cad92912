#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "cli/views/format.h"
#include "cli/views/node_view.h"
#include "common/text.h"
#include "common/units.h"
#include "model/parameter.h"

namespace assay::cli {
namespace {

using Pair = std::pair<int, int>;

// Returns the links by pair of GPUs, the smaller index first.
std::map<Pair, v1::GpuLink> LinksOf(const v1::NodeInventory& inventory) {
  std::map<Pair, v1::GpuLink> links;
  for (const v1::GpuLink& link : inventory.gpu_links()) {
    links[std::minmax(link.gpu_a(), link.gpu_b())] = link;
  }
  return links;
}

// Returns 18 for "NV18"; nullopt for kinds other than NVLink.
std::optional<int> NvLinksOf(const std::string& kind) {
  if (kind.rfind("NV", 0) != 0) return std::nullopt;
  const Result<int64_t> count = ParseInteger(kind.substr(2));
  return count.ok() ? std::optional(static_cast<int>(*count)) : std::nullopt;
}

// Explains an NVLink kind: number of links, through what, and their nominal rate.
std::string NvLinkMeaning(const v1::NodeInventory& inventory, int count) {
  std::string text = Counted(count, "NVLink");
  const auto& gpus = inventory.gpus();
  if (std::all_of(gpus.begin(), gpus.end(),
                  [&](const v1::GpuInventory& gpu) { return gpu.nvlinks_to_switch() >= count; })) {
    text += " through NVSwitches";
  }
  if (gpus.empty() || !gpus[0].has_nvlink_bytes_per_second()) return text;
  const double bytes = static_cast<double>(gpus[0].nvlink_bytes_per_second()) * count;
  return text + ", " + FormatSignificant(bytes * 1e-9, 3) + " GB/s each way, headers included";
}

std::string Meaning(const v1::NodeInventory& inventory, const std::string& kind) {
  if (const auto count = NvLinksOf(kind)) return NvLinkMeaning(inventory, *count);
  static const std::map<std::string, std::string> meanings = {
      {"PIX", "one PCIe switch"},
      {"PXB", "several PCIe switches, no CPU"},
      {"PHB", "a PCIe host bridge: the CPU"},
      {"NODE", "several PCIe host bridges of one NUMA node"},
      {"SYS", "the connection between NUMA nodes"}};
  const auto found = meanings.find(kind);
  return found == meanings.end() ? "" : found->second;
}

std::string Legend(const v1::NodeInventory& inventory, const std::map<Pair, v1::GpuLink>& links) {
  std::vector<std::string> kinds;  // In order of first occurrence.
  std::string refused;
  for (const auto& [pair, link] : links) {
    if (std::find(kinds.begin(), kinds.end(), link.kind()) == kinds.end()) {
      kinds.push_back(link.kind());
    }
    if (link.no_peer_access().empty()) continue;
    refused += "!     GPUs " + std::to_string(pair.first) + " and " + std::to_string(pair.second) +
               " have no peer access: " + Sanitize(link.no_peer_access()) + "\n";
  }
  std::string text;
  for (const std::string& kind : kinds) {
    const std::string meaning = Meaning(inventory, kind);
    if (meaning.empty()) continue;
    text += kind + std::string(kind.size() < 6 ? 6 - kind.size() : 1, ' ') + meaning + "\n";
  }
  return text + refused;
}

// Returns one column for the row's name and one per GPU.
std::vector<Column> GpuColumns(const v1::NodeInventory& inventory, Align align) {
  std::vector<Column> columns = {{"GPU", Align::kRight}};
  for (const v1::GpuInventory& gpu : inventory.gpus()) {
    columns.push_back({std::to_string(gpu.index()), align});
  }
  return columns;
}

// Returns the inventory's index of the GPU of rank `parameters[name]` of the result.
std::optional<int> GpuOfRank(const v1::NodeInventory& inventory, const v1::CaseResult& result,
                             const std::string& name) {
  const auto text = result.parameters().find(name);
  if (text == result.parameters().end()) return std::nullopt;
  const Result<int64_t> rank = ParseInteger(text->second);
  const auto& uuids = result.provenance().gpu_uuids();
  if (!rank.ok() || *rank < 0 || *rank >= uuids.size()) return std::nullopt;
  for (const v1::GpuInventory& gpu : inventory.gpus()) {
    if (gpu.uuid() == uuids[static_cast<int>(*rank)]) return gpu.index();
  }
  return std::nullopt;
}

// Returns the parameters other than the pair: "write, unidirectional, copy engine, 1GiB".
std::string HowMeasured(const v1::CaseResult& result) {
  const auto& parameters = result.parameters();
  const auto value = [&](const char* name) {
    const auto found = parameters.find(name);
    return found == parameters.end() ? std::string() : found->second;
  };
  const Result<int64_t> bytes = ParseInteger(value("bytes"));
  return value("direction") + " " + value("mode") + " by " +
         (value("engine") == "sm" ? "a kernel" : "copy engine") + ", " +
         (bytes.ok() ? FormatBytes(*bytes) : value("bytes"));
}

}  // namespace

std::string TopologyText(const v1::NodeInventory& inventory, const Style& style) {
  const std::map<Pair, v1::GpuLink> links = LinksOf(inventory);
  const bool any = !links.empty() || std::any_of(inventory.gpus().begin(), inventory.gpus().end(),
                                                 [](const v1::GpuInventory& gpu) {
                                                   return gpu.has_numa_node() ||
                                                          !gpu.cpus().empty() ||
                                                          !gpu.pcie_switch().empty();
                                                 });
  if (!any) return "";
  std::vector<Column> columns = GpuColumns(inventory, Align::kLeft);
  if (links.empty()) columns.resize(1);
  columns.push_back({"NUMA", Align::kRight, 1});
  columns.push_back({"CPUS", Align::kLeft, 3});
  columns.push_back({"PCIE SWITCH", Align::kLeft, 2});
  columns.push_back({"ROOT PORT", Align::kLeft, 4});
  Table table(std::move(columns));
  for (const v1::GpuInventory& row : inventory.gpus()) {
    std::vector<Cell> cells = {std::to_string(row.index())};
    for (const v1::GpuInventory& column : inventory.gpus()) {
      if (links.empty()) break;
      const auto link = links.find(std::minmax(row.index(), column.index()));
      if (row.index() == column.index() || link == links.end()) {
        cells.emplace_back("-", Tone::kDim);
      } else if (!link->second.no_peer_access().empty()) {
        cells.emplace_back(link->second.kind() + "!", Tone::kDoubtful);
      } else {
        cells.emplace_back(link->second.kind());
      }
    }
    cells.emplace_back(row.has_numa_node() ? std::to_string(row.numa_node()) : "");
    cells.emplace_back(row.cpus());
    cells.emplace_back(row.pcie_switch());
    cells.emplace_back(row.pcie_root_port());
    table.Add(std::move(cells));
  }
  return table.Render(style) + Legend(inventory, links);
}

std::string MeasuredLinks(const v1::NodeInventory& inventory,
                          const std::vector<v1::StoredResult>& results, const Style& style) {
  std::map<Pair, double> measured;
  std::string how;
  for (const v1::StoredResult& stored : results) {
    const v1::CaseResult& result = stored.case_result();
    if (result.outcome() != v1::CASE_OUTCOME_OK || result.measurements().empty()) continue;
    const auto from = GpuOfRank(inventory, result, "from");
    const auto to = GpuOfRank(inventory, result, "to");
    if (!from || !to) continue;
    if (how.empty()) how = HowMeasured(result);
    if (how == HowMeasured(result))
      measured.emplace(Pair(*from, *to), result.measurements(0).median());
  }
  if (measured.empty()) return "";
  Table table(GpuColumns(inventory, Align::kRight));
  for (const v1::GpuInventory& row : inventory.gpus()) {
    std::vector<Cell> cells = {std::to_string(row.index())};
    for (const v1::GpuInventory& column : inventory.gpus()) {
      const auto found = measured.find({row.index(), column.index()});
      if (found == measured.end()) {
        cells.emplace_back("-", Tone::kDim);
      } else {
        cells.emplace_back(FormatSignificant(found->second, 4));
      }
    }
    table.Add(std::move(cells));
  }
  return "GB/s last measured from row to column: " + Sanitize(how) + "\n" + table.Render(style);
}

}  // namespace assay::cli
