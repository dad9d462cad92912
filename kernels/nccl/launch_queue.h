// Limits the number of kernels queued on a stream. CUDA blocks the next launch while the queue is
// full. If another rank is lost, the queued kernels wait for it forever, so the blocked launch
// would never return.
#pragma once

#include <cuda_runtime_api.h>

#include <array>

#include "kernels/cuda/frame/device.h"
#include "kernels/nccl/communicator.h"

namespace assay {

class LaunchQueue {
 public:
  // Waits until the queue of `stream` is short enough that the next launch will not block. Must be
  // called before every launch.
  Status MakeRoom(Communicator& communicator, cudaStream_t stream, Duration timeout);

 private:
  // The number of launches between two events recorded on the stream. Waiting for the event
  // kSteps events back keeps the queue well below the thousand or so launches that CUDA accepts.
  static constexpr int64_t kStep = 64;
  static constexpr size_t kSteps = 4;

  std::array<CudaEvent, kSteps> events_;
  int64_t launches_ = 0;
};

}  // namespace assay
