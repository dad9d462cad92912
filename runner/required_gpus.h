// Whether CUDA offers all GPUs that the machine has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/gpu_platform.h"
#include "host/nvml.h"

namespace assay {

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
