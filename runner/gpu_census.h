// Whether CUDA offers all GPUs that the machine has.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/nvml.h"
#include "host/platform.h"

namespace assay {

// What the machine has, whatever CUDA says.
struct MachineGpus {
  struct Gpu {
    NvmlGpu described;
    std::string lost;  // Nvml::WhyLost.
  };
  Status nvml;  // Why NVML does not tell.
  std::vector<Gpu> listed;
  std::vector<std::string> on_bus;  // PCI addresses.
};
MachineGpus ReadMachineGpus();

struct GpuCensus {
  std::string fault;               // What CUDA lacks, and what to look at; empty if nothing.
  std::vector<std::string> notes;  // What is no fault.
};

// `visible` is CUDA_VISIBLE_DEVICES: what it leaves out is no fault, but what it names and CUDA
// does not offer is.
GpuCensus TakeCensus(const std::vector<LocalGpu>& offered, const MachineGpus& machine,
                     const std::optional<std::string>& visible);

}  // namespace assay
