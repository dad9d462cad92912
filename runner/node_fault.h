// Decides whether a case failed by itself or because of its GPU. Also checks whether all of the
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

// Decides whether the GPU of rank `rank` caused the error `agreed`, on which all ranks of the case
// agreed. `trouble` describes the GPU's problems. Returns OK if the GPU did not cause the error.
// Otherwise returns UNAVAILABLE with the evidence and one of these reasons:
//   GPU_LOST          The GPU fell off the bus or needs a reset.
//   GPU_BUSY          Another process uses the GPU exclusively or holds memory the case needed.
//   GPU_CONTEXT_LOST  The case caused the error, but CUDA refuses all further work in this process.
Status NodeFault(const Status& agreed, const GpuTrouble& trouble, int rank);

// Returns the status with which this rank must end. All ranks must call this, each with its own
// result of NodeFault() as `mine`. A rank with a GPU fault gets that fault and the others get
// PEER_LOST with a message such as "rank 2: the GPU is lost", so that only the faulty node is
// blamed. If GPU_CONTEXT_LOST is the only fault, all ranks get it and no node is blamed. `peers`
// may be null.
Status FaultInGang(Peers* peers, const Status& mine);

// Returns true if the fault makes the result of the case invalid, because the GPU's state may have
// affected it. Returns false for a broken CUDA context, which affects only later cases.
bool EndsWithoutResult(const Status& fault);

// Returns UNAVAILABLE (GPU_UNUSABLE), with the problem and its remedy, if the machine has GPUs that
// cannot be used. Returns OK if the machine has no GPUs, because GPU benchmarks are then simply
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

// Finds the GPUs of this machine that are missing, which means that CUDA does not offer them to
// this process although it should. `visible` is the value of CUDA_VISIBLE_DEVICES. A GPU that this
// variable excludes is not missing. A GPU that it names but that CUDA does not offer is missing.
RequiredGpus CheckRequiredGpus(const std::vector<LocalGpu>& offered, const MachineGpus& machine,
                               const std::optional<std::string>& visible);

}  // namespace assay
