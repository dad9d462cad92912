// Decides whether a case failed on its own or because of its GPU. Also checks whether all of the
// machine's GPUs can be used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/status.h"
#include "gang/peers.h"
#include "host/gpu_platform.h"
#include "host/nvml.h"

namespace assay {

// Decides whether the error `agreed`, on which all ranks of the case agreed, was caused by this
// rank's GPU. `rank` is this rank's number, and `trouble` describes its GPU's problems. Returns OK
// if the GPU is not the cause. Otherwise returns UNAVAILABLE with the evidence and one of these
// reasons:
//   GPU_LOST          The GPU fell off the bus or needs a reset.
//   GPU_BUSY          Another process uses the GPU exclusively or holds memory the case needed.
//   GPU_CONTEXT_LOST  The case caused the error, but CUDA refuses all further work in this process.
Status NodeFault(const Status& agreed, const GpuTrouble& trouble, int rank);

// Returns the status with which this rank must end. All ranks must call this, each with its own
// result of NodeFault() as `mine`. `peers` may be null.
//   - If a GPU caused the failure, its rank returns the GPU's error, and all other ranks return
//     PEER_LOST with a message such as "rank 2: the GPU is lost".
//   - If no GPU caused it but a CUDA context is broken, all ranks return GPU_CONTEXT_LOST.
Status FaultInGang(Peers* peers, const Status& mine);

// Returns true if this GPU error may have affected the result of the case, which must then be
// discarded. Returns false for a broken CUDA context, which affects only later cases.
bool EndsWithoutResult(const Status& fault);

// Returns UNAVAILABLE (GPU_UNUSABLE), with the problem and its remedy, if the machine has GPUs but
// none can be used. Returns OK on a machine without GPUs, where GPU benchmarks are merely
// unsupported. `platform` may be null.
Status CheckGpusUsable(GpuPlatform* platform);

// The GPUs of the machine, as NVML and the PCI bus list them.
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

// Finds GPUs that CUDA should offer to this process but does not. `offered` lists the GPUs that
// CUDA offers. `visible` is the value of CUDA_VISIBLE_DEVICES. GPUs excluded by this variable do
// not count as missing.
RequiredGpus CheckRequiredGpus(const std::vector<LocalGpu>& offered, const MachineGpus& machine,
                               const std::optional<std::string>& visible);

}  // namespace assay
