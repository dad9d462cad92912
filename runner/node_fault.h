// Whose fault a failed case is: its own, or the GPU's that it ran on, or should have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "gang/peers.h"
#include "host/gpu_platform.h"
#include "host/nvml.h"

namespace assay {

// OK if the case itself is to blame for `agreed`, the error of all its ranks, or another rank's
// GPU: `trouble` is of the GPU of `rank`. Else UNAVAILABLE with what was seen in the message, and
// the reason
//   GPU_LOST          the GPU fell off the bus or needs a reset,
//   GPU_BUSY          others' processes hold memory without which the case would have
//                     fitted, or have closed the GPU. A case that would not have fitted
//                     beside nobody either is to blame itself,
//   GPU_CONTEXT_LOST  the case is to blame, but CUDA refuses all further work of this
//                     process: the next case needs another.
Status NodeFault(const Status& agreed, const GpuTrouble& trouble, int rank);

// Returns the status that a rank ends with if `mine` is its NodeFault. All ranks must call it. Each
// rank reports its own GPU, so that only its node is blamed. The others end with PEER_LOST ("rank
// 2: the GPU is lost"). They also share GPU_CONTEXT_LOST, for which no node is to blame. `peers`
// may be null.
Status FaultInGang(Peers* peers, const Status& mine);

// Whether a fault leaves the case without a result: the GPU's state had a part in it. A broken
// context spoils only what comes after.
bool EndsWithoutResult(const Status& fault);

// UNAVAILABLE (GPU_UNUSABLE) with what is wrong and what would be right if `platform` has
// GPUs that cannot be used. OK if they can, and if there are none (`platform` may be null):
// then benchmarks are unsupported.
Status CheckGpusUsable(GpuPlatform* platform);

// The GPUs of the machine as NVML and the PCI bus list them.
struct MachineGpus {
  struct Gpu {
    NvmlGpu described;
    std::string lost;  // Nvml::WhyLost.
  };
  Status nvml;  // Why NVML lists none.
  std::vector<Gpu> listed;
  std::vector<std::string> on_bus;  // PCI addresses.
};
MachineGpus ReadMachineGpus();

struct RequiredGpus {
  std::string missing;             // Which GPUs CUDA does not offer, and what to check. Or empty.
  std::vector<std::string> notes;  // Differences that are no error.
};

// Compares the GPUs that CUDA offers with those of the machine. `visible` is
// CUDA_VISIBLE_DEVICES: a GPU that it leaves out is not missing, but one that it names and CUDA
// does not offer is.
RequiredGpus CheckRequiredGpus(const std::vector<LocalGpu>& offered, const MachineGpus& machine,
                               const std::optional<std::string>& visible);

}  // namespace assay
