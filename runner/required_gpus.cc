#include "runner/required_gpus.h"

#include <algorithm>

#include "common/text.h"
#include "host/pci.h"

namespace assay {
namespace {

constexpr size_t kMostNamed = 8;

// A MIG instance has a UUID of its own, but the PCI address of its GPU.
bool IsOffered(const NvmlGpu& gpu, const std::vector<LocalGpu>& offered) {
  return std::any_of(offered.begin(), offered.end(), [&](const LocalGpu& one) {
    return (!gpu.uuid.empty() && one.uuid == gpu.uuid) ||
           (!gpu.pci_bus_id.empty() &&
            SysfsPciName(one.pci_bus_id) == SysfsPciName(gpu.pci_bus_id));
  });
}

// "GPU 3 at 00000000:9B:00.0 (GPU requires a reset)".
std::string NameOf(const MachineGpus::Gpu& gpu) {
  std::string text = "GPU " + std::to_string(gpu.described.index);
  if (!gpu.described.pci_bus_id.empty()) text += " at " + gpu.described.pci_bus_id;
  if (!gpu.lost.empty()) return text + " (" + gpu.lost + ")";
  return gpu.described.mig_enabled.value_or(false) ? text + " (MIG is on)" : text;
}

// How many GPUs CUDA_VISIBLE_DEVICES names.
size_t CountNamed(const std::string& visible) {
  size_t named = 0;
  for (size_t begin = 0; begin <= visible.size(); ++named) {
    const size_t end = std::min(visible.find(',', begin), visible.size());
    const std::string one = visible.substr(begin, end - begin);
    if (one.empty() || one == "-1") break;  // CUDA reads no further.
    begin = end + 1;
  }
  return named;
}

std::vector<std::string> OnBusAlone(const MachineGpus& machine) {
  std::vector<std::string> alone;
  for (const std::string& address : machine.on_bus) {
    if (std::none_of(machine.listed.begin(), machine.listed.end(), [&](const auto& gpu) {
          return SysfsPciName(gpu.described.pci_bus_id) == address;
        })) {
      alone.push_back(address);
    }
  }
  return alone;
}

}  // namespace

MachineGpus ReadMachineGpus() {
  MachineGpus machine;
  const auto nvml = Nvml::Open(nullptr);
  machine.nvml = nvml.status();
  if (!nvml.ok()) return machine;
  for (int index = 0; index < (*nvml)->GpuCount(); ++index) {
    machine.listed.push_back({(*nvml)->Describe(index), (*nvml)->WhyLost(index)});
  }
  machine.on_bus = NvidiaGpusOnBus();
  return machine;
}

RequiredGpus CheckRequiredGpus(const std::vector<LocalGpu>& offered, const MachineGpus& machine,
                               const std::optional<std::string>& visible) {
  RequiredGpus required;
  const std::string variable = visible ? "CUDA_VISIBLE_DEVICES=\"" + *visible + "\"" : "";
  if (const size_t named = visible ? CountNamed(*visible) : 0; named > offered.size()) {
    required.missing = variable + " names " + std::to_string(named) +
                       " GPUs, but CUDA offers only the first " + std::to_string(offered.size()) +
                       "; compare it with `nvidia-smi -L`";
  }
  if (!machine.nvml.ok()) {
    required.notes.push_back("cannot check whether CUDA offers all GPUs: " +
                             machine.nvml.message());
    return required;
  }
  std::vector<std::string> unseen;
  bool mig = false;
  for (const MachineGpus::Gpu& gpu : machine.listed) {
    if (IsOffered(gpu.described, offered)) continue;
    unseen.push_back(NameOf(gpu));
    mig = mig || gpu.described.mig_enabled.value_or(false);
  }
  const std::string some = std::to_string(machine.listed.size() - unseen.size()) + " of the " +
                           std::to_string(machine.listed.size()) + " GPUs that NVML lists";
  if (!unseen.empty() && visible && required.missing.empty()) {
    required.notes.push_back(some + ", selected by " + variable);
  } else if (!unseen.empty()) {
    required.missing += (required.missing.empty() ? "" : "; ");
    required.missing += "CUDA offers " + some + ", but not " + JoinSome(unseen, kMostNamed) +
                        "; check `nvidia-smi`, look for Xid in dmesg, then reset or reboot";
    if (mig) required.missing += "; with MIG on, CUDA offers at most one instance";
    required.missing += "; to verify the other GPUs, leave out --require-gpu";
  }
  if (const auto alone = OnBusAlone(machine); !alone.empty()) {
    required.notes.push_back(
        "on the PCI bus but not in NVML's list: " + JoinSome(alone, kMostNamed) +
        " (in a container they may belong to others; otherwise look for NVRM "
        "in dmesg)");
  }
  return required;
}

}  // namespace assay
