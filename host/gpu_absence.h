// Why CUDA shows no GPU, in words: what is wrong, and what would be right.
#pragma once

#include <optional>
#include <string>

namespace assay {

// CUDA's answer to the query for GPUs, and further facts about the node.
struct CudaAnswer {
  int error = 0;            // A cudaError_t; 0 with no GPU is cudaErrorNoDevice.
  std::string error_name;   // "cudaErrorSystemNotReady".
  int runtime_version = 0;  // As CUDART_VERSION: 13010 is 13.1.
  int driver_version = 0;   // The newest runtime that the driver takes; 0 without a driver.
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES.
  // Whether the node has files of NVIDIA GPUs under /dev: then it has GPUs, and is meant to
  // use them, whatever CUDA says.
  bool device_files = false;
};

struct GpuAbsence {
  // The node has GPUs that it cannot use: not a node without GPUs, but a faulty one.
  bool broken = false;
  std::string why;
};

// `answer` is one without GPUs.
GpuAbsence ExplainNoGpu(const CudaAnswer& answer);

}  // namespace assay
