// Decides whether a case failed by itself or because of its GPU, and checks whether all GPUs of the
// machine can be used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "gang/peers.h"
#include "host/gpu_platform.h"
#include "host/nvml.h"

namespace assay {

// Decides whether the GPU of `rank`, which `trouble` describes, caused `agreed`, the error that all
// ranks of the case agreed on. Returns OK if the case itself or another rank's GPU caused it.
// Otherwise returns UNAVAILABLE with the evidence and one of these reasons:
//   GPU_LOST          the GPU fell off the bus or needs a reset,
//   GPU_BUSY          another process uses the GPU alone or holds memory that the case needed,
//   GPU_CONTEXT_LOST  the case caused it, but CUDA refuses all further work in this process.
Status NodeFault(const Status& agreed, const GpuTrouble& trouble, int rank);

// Returns the status that this rank must end with. `mine` is its result of NodeFault, and all ranks
// must call this. A rank with a GPU fault returns that fault, so that only its node is blamed. The
// other ranks return PEER_LOST ("rank 2: the GPU is lost"). All ranks return GPU_CONTEXT_LOST if it
// is the only fault, and then no node is blamed. `peers` may be null.
Status FaultInGang(Peers* peers, const Status& mine);

// Returns true if the fault makes the result of the case invalid, because the state of the GPU
// contributed to it. A broken CUDA context does not, because it affects only later cases.
bool EndsWithoutResult(const Status& fault);

// Returns UNAVAILABLE (GPU_UNUSABLE), with the problem and its remedy, if the machine has GPUs that
// cannot be used. Returns OK if they can be used or if there are none; GPU benchmarks are then
// unsupported. `platform` may be null.
Status CheckGpusUsable(GpuPlatform* platform);

// The GPUs of the machine as NVML and the PCI bus list them.
struct MachineGpus {
  struct Gpu {
    NvmlGpu described;
    std::string lost;  // Nvml::WhyLost.
  };
  Status nvml;  // The error if NVML lists none.
  std::vector<Gpu> listed;
  std::vector<std::string> on_bus;  // PCI addresses.
};
MachineGpus ReadMachineGpus();

struct RequiredGpus {
  std::string missing;  // The GPUs that CUDA does not offer, and what to check; may be empty.
  std::vector<std::string> notes;  // Differences that are not errors.
};

// Finds GPUs of the machine that CUDA does not offer to this process. `visible` is the value of
// CUDA_VISIBLE_DEVICES. A GPU that it excludes is not missing; a GPU that it names but CUDA does
// not offer is missing.
RequiredGpus CheckRequiredGpus(const std::vector<LocalGpu>& offered, const MachineGpus& machine,
                               const std::optional<std::string>& visible);

}  // namespace assay
