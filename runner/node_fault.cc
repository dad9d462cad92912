#include "runner/node_fault.h"

#include <algorithm>
#include <cstdint>

#include "common/text.h"
#include "gang/socket.h"
#include "host/pci.h"
#include "runner/gang.h"

namespace assay {
namespace {

// Rounds up, so that a few bytes are "1 MiB" instead of "0 MiB".
std::string FormatMebibytes(int64_t bytes) {
  constexpr int64_t kMebi = int64_t{1} << 20;
  return std::to_string((bytes + kMebi - 1) / kMebi) + " MiB";
}

// Converts `agreed`, the error that all ranks agreed on, into the error that `rank` reports:
//   - If the error came from this rank, removes the rank number, because the report adds it again.
//   - If it came from another rank, removes the reason, because it says nothing about this rank's
//     GPU.
Status AtRank(int rank, const Status& agreed) {
  if (agreed.rank() < 0) return agreed;
  if (agreed.rank() != rank) return Status(agreed.code(), Reason::kNone, agreed.Text());
  return Status(agreed.code(), agreed.reason(), agreed.message());
}

constexpr size_t kMostNamed = 8;

// Returns true if CUDA lets this process use the GPU. Compares PCI addresses as well as UUIDs,
// because a MIG instance (a part of a GPU) has its own UUID but shares its GPU's PCI address.
bool IsOffered(const NvmlGpu& gpu, const std::vector<LocalGpu>& offered) {
  return std::any_of(offered.begin(), offered.end(), [&](const LocalGpu& one) {
    return (!gpu.uuid.empty() && one.uuid == gpu.uuid) ||
           (!gpu.pci_bus_id.empty() &&
            SysfsPciName(one.pci_bus_id) == SysfsPciName(gpu.pci_bus_id));
  });
}

// Returns "GPU 3 at 00000000:9B:00.0 (GPU requires a reset)".
std::string NameOf(const MachineGpus::Gpu& gpu) {
  std::string text = "GPU " + std::to_string(gpu.described.index);
  if (!gpu.described.pci_bus_id.empty()) text += " at " + gpu.described.pci_bus_id;
  if (!gpu.lost.empty()) return text + " (" + gpu.lost + ")";
  return gpu.described.mig_enabled.value_or(false) ? text + " (MIG is on)" : text;
}

// Returns how many GPUs CUDA_VISIBLE_DEVICES names.
size_t CountNamed(const std::string& visible) {
  size_t named = 0;
  for (const std::string_view one : Split(visible, ',')) {
    if (one.empty() || one == "-1") break;  // CUDA ignores the rest.
    ++named;
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

Status NodeFault(const Status& agreed, const GpuTrouble& trouble, int rank) {
  if (agreed.ok()) return Status::Ok();
  const Status failure = AtRank(rank, agreed);
  const auto fault = [&](Reason reason, const std::string& what) {
    const std::string seen = trouble.evidence.empty() ? "" : " (" + trouble.evidence + ")";
    return Unavailable(what + seen + "; the case ended with: " + failure.message(), reason);
  };
  if (trouble.lost || failure.reason() == Reason::kGpuLost)
    return fault(Reason::kGpuLost, "the GPU is lost");
  if (failure.reason() == Reason::kGpuUnavailable && trouble.other_processes > 0) {
    return fault(Reason::kGpuBusy, "the GPU runs another's job");
  }
  const bool short_of_theirs =
      trouble.missing_bytes > 0 && trouble.other_bytes >= trouble.missing_bytes;
  if (failure.reason() == Reason::kOutOfMemory && short_of_theirs) {
    return fault(Reason::kGpuBusy, "other processes hold " + FormatMebibytes(trouble.other_bytes) +
                                       " of the GPU's memory, of which " +
                                       FormatMebibytes(trouble.missing_bytes) +
                                       " would have sufficed");
  }
  if (trouble.context_broken) return fault(Reason::kGpuContextLost, "CUDA refuses further work");
  return Status::Ok();
}

Status FaultInGang(Peers* peers, const Status& mine) {
  Status agreed = AgreeIfGang(peers, mine);
  const bool of_gpu = agreed.reason() == Reason::kGpuLost || agreed.reason() == Reason::kGpuBusy ||
                      agreed.reason() == Reason::kGpuContextLost;  // Otherwise a rank was lost.
  if (!of_gpu) return agreed;
  if (!mine.ok() && EndsWithoutResult(mine) == EndsWithoutResult(agreed)) return mine;
  return EndsWithoutResult(agreed) ? PeerLost(agreed.Text()).WithPeer({agreed.rank()}) : agreed;
}

bool EndsWithoutResult(const Status& fault) {
  return !fault.ok() && fault.reason() != Reason::kGpuContextLost;
}

Status CheckGpusUsable(GpuPlatform* platform) {
  if (platform == nullptr || !platform->Gpus().empty()) return Status::Ok();
  const GpuTrouble trouble = platform->TroubleOf(0);
  return trouble.lost ? Unavailable(trouble.evidence, Reason::kGpuUnusable) : Status::Ok();
}

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
