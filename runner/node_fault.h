// Decides whether a failed case or the GPU that it ran on is to blame, and whether all GPUs of the
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

// Returns OK if the case is to blame for `agreed`, the error that all its ranks agreed on, or if
// another rank's GPU is. `trouble` describes the GPU of `rank`. Otherwise returns UNAVAILABLE with
// the evidence in the message and one of these reasons:
//   GPU_LOST          the GPU fell off the bus or needs a reset,
//   GPU_BUSY          other processes have closed the GPU, or hold memory without which the case
//                     would have fitted. A case that is too large for the empty GPU is to blame
//                     itself,
//   GPU_CONTEXT_LOST  the case is to blame, but CUDA refuses all further work of this process:
//                     the next case needs another process.
Status NodeFault(const Status& agreed, const GpuTrouble& trouble, int rank);

// Returns the status that a rank ends with if `mine` is its NodeFault. All ranks must call it. Each
// rank reports its own GPU, so that only its node is blamed. The others end with PEER_LOST ("rank
// 2: the GPU is lost"). They also share GPU_CONTEXT_LOST, for which no node is to blame. `peers`
// may be null.
Status FaultInGang(Peers* peers, const Status& mine);

// Whether a fault leaves the case without a result, because the GPU's state had a part in it. A
// broken context affects only what comes after the case.
bool EndsWithoutResult(const Status& fault);

// Returns UNAVAILABLE (GPU_UNUSABLE), with what is wrong and how to repair it, if `platform` has
// GPUs that cannot be used. Returns OK if they can be used or there are none; benchmarks are then
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

// Compares the GPUs that CUDA offers with those of the machine. `visible` is CUDA_VISIBLE_DEVICES.
// A GPU that it leaves out is not missing; a GPU that it names and CUDA does not offer is missing.
RequiredGpus CheckRequiredGpus(const std::vector<LocalGpu>& offered, const MachineGpus& machine,
                               const std::optional<std::string>& visible);

}  // namespace assay
