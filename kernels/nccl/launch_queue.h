// Limits the number of kernels queued on a stream. CUDA blocks a launch while its queue is full. If
// another rank is lost, the queued kernels wait for that rank forever, so the blocked launch would
// never return.
#pragma once

#include <cuda_runtime_api.h>

#include <array>

#include "kernels/cuda/frame/device.h"
#include "kernels/nccl/communicator.h"

namespace assay {

class LaunchQueue {
 public:
  // Waits until few enough launches are in `stream`. Must be called before every launch.
  Status MakeRoom(Communicator& communicator, cudaStream_t stream, Duration timeout);

 private:
  // One event per kStep launches. CUDA queues about a thousand launches.
  static constexpr int64_t kStep = 64;
  static constexpr size_t kSteps = 4;

  std::array<CudaEvent, kSteps> events_;
  int64_t launches_ = 0;
};

}  // namespace assay
