// Reads how GPUs are connected: NVLinks, NVSwitches, PCIe.
#include <algorithm>
#include <map>

#include "host/nvml_library.h"

namespace assay {
namespace {

using nvml_abi::Device;
using nvml_abi::PciInfo;

constexpr Duration kLinkHealthAge = std::chrono::minutes(1);

// Returns the name of a value of nvmlGpuTopologyLevel_t. Empty for unknown values.
std::string LinkKind(int level) {
  static const std::map<int, std::string> kinds = {
      {nvml_abi::kTopologyInternal, "PIX"}, {nvml_abi::kTopologySingle, "PIX"},
      {nvml_abi::kTopologyMultiple, "PXB"}, {nvml_abi::kTopologyHostBridge, "PHB"},
      {nvml_abi::kTopologyNode, "NODE"},    {nvml_abi::kTopologySystem, "SYS"}};
  const auto found = kinds.find(level);
  return found == kinds.end() ? "" : found->second;
}

// Describes a value of nvmlGpuP2PStatus_t. Empty if it is not a problem.
std::string PeerAccessProblem(int status) {
  static const std::map<int, std::string> problems = {{nvml_abi::kP2pOk, ""},
                                                      {1, "the chipset does not support it"},
                                                      {2, "the GPU does not support it"},
                                                      {3, "the PCIe topology does not support it"},
                                                      {4, "the driver's settings disable it"},
                                                      {5, "it is not supported"},
                                                      {nvml_abi::kP2pUnknown, ""}};
  const auto found = problems.find(status);
  return found == problems.end() ? "NVML returns the reason " + std::to_string(status)
                                 : found->second;
}

bool SamePlace(const PciInfo& a, const PciInfo& b) {
  return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
}

}  // namespace

NvLinks Nvml::Library::ReadNvLinks(nvml_abi::Device device) {
  NvLinks links;
  const auto& nvml = functions_;
  for (unsigned link = 0; link < nvml_abi::kMaxNvLinks; ++link) {
    // Ask for the state of link 0, link 1 and so on, until the GPU returns an error because there
    // is no link with that number.
    int state = 0;
    if (nvml.nvlink_state(device, link, &state) != nvml_abi::kSuccess) break;
    links.readable = true;
    if (state != nvml_abi::kEnabled) continue;
    ++links.active;
    if (!links.bytes_per_second) links.bytes_per_second = ReadNvLinkSpeed(device, link);
    const auto type = Read<int>(nvml.nvlink_remote_type, device, link);
    if (type == nvml_abi::kRemoteSwitch) {
      ++links.to_switch;
    } else if (type == nvml_abi::kRemoteGpu) {
      const auto remote = Read<PciInfo>(nvml.nvlink_remote_pci, device, link);
      if (remote) links.remote_gpus.push_back(*remote);
    }
  }
  return links;
}

NvmlLinkHealth Nvml::Library::LinkHealth(Device device) {
  MutexLock lock(links_mutex_);
  const MonotonicTime now = Clock::Real().Now();
  const auto [found, added] = links_.try_emplace(device);
  ReadLinks& read = found->second;
  if (!added && now - read.time < kLinkHealthAge) return read.health;
  read = {now, {}};
  NvmlLinkHealth& health = read.health;
  for (unsigned link = 0; link < nvml_abi::kMaxNvLinks; ++link) {
    int state = 0;
    if (functions_.nvlink_state(device, link, &state) != nvml_abi::kSuccess) break;
    health.active = health.active.value_or(0) + (state == nvml_abi::kEnabled ? 1 : 0);
    // Links that are down may have counters too.
    for (int counter = 0; counter < nvml_abi::kNvLinkErrorCounters; ++counter) {
      uint64_t errors = 0;
      if (functions_.nvlink_errors(device, link, counter, &errors) != nvml_abi::kSuccess) continue;
      health.errors = health.errors.value_or(0) + static_cast<int64_t>(errors);
    }
  }
  return health;
}

std::optional<int64_t> Nvml::Library::ReadNvLinkSpeed(Device device, unsigned link) {
  nvml_abi::FieldValue speeds[2] = {};
  speeds[0].field = nvml_abi::kFieldNvLinkSpeed;
  speeds[0].scope = link;
  speeds[1].field = nvml_abi::kFieldNvLinkSpeedCommon;
  if (!Call(functions_.field_values, device, 2, speeds)) {
    return std::nullopt;
  }
  for (const nvml_abi::FieldValue& speed : speeds) {
    if (speed.code != nvml_abi::kSuccess || speed.value.integer == 0) continue;
    return int64_t{speed.value.integer} * 1'000'000;
  }
  return std::nullopt;
}

std::vector<NvmlLink> Nvml::Links() const {
  struct Node {
    Device device;
    PciInfo pci;
    NvLinks nvlinks;
  };
  std::vector<std::optional<Node>> nodes;
  const auto& nvml = library_->functions();
  for (int index = 0; index < GpuCount(); ++index) {
    std::optional<Node>& node = nodes.emplace_back();
    const auto handle = library_->Handle(index);
    if (!handle) continue;
    const auto pci = library_->Read<PciInfo>(nvml.pci_info, *handle);
    if (pci) node = Node{*handle, *pci, library_->ReadNvLinks(*handle)};
  }
  std::vector<NvmlLink> links;
  for (size_t a = 0; a < nodes.size(); ++a) {
    for (size_t b = a + 1; b < nodes.size(); ++b) {
      if (!nodes[a] || !nodes[b]) continue;
      // Through NVSwitches, a GPU reaches every other GPU with all its links.
      int width = std::min(nodes[a]->nvlinks.to_switch, nodes[b]->nvlinks.to_switch);
      for (const PciInfo& remote : nodes[a]->nvlinks.remote_gpus) {
        width += SamePlace(remote, nodes[b]->pci) ? 1 : 0;
      }
      std::string kind;
      if (width > 0) {
        kind = "NV" + std::to_string(width);
      } else if (const auto level = library_->Read<int>(nvml.common_ancestor, nodes[a]->device,
                                                        nodes[b]->device)) {
        kind = LinkKind(*level);
      }
      if (kind.empty()) continue;
      const auto first = static_cast<int>(a);
      const auto second = static_cast<int>(b);
      links.push_back({first, second, kind, WhyNoPeerAccess(first, second)});
    }
  }
  return links;
}

std::string Nvml::WhyNoPeerAccess(int a, int b) const {
  const auto first = library_->Handle(a);
  const auto second = library_->Handle(b);
  if (!first || !second || a == b) return "";
  const auto status =
      library_->Read<int>(library_->functions().p2p_status, *first, *second, nvml_abi::kP2pRead);
  return status ? PeerAccessProblem(*status) : "";
}

}  // namespace assay
