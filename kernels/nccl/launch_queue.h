// Keeps the queue of a stream short, so that no launch waits for room in it: while a rank
// is gone, the kernels of the others never end, and such a launch would never return.
#pragma once

#include <cuda_runtime_api.h>

#include <array>

#include "kernels/nccl/communicator.h"

namespace assay {

class LaunchQueue {
 public:
  LaunchQueue() = default;
  LaunchQueue(const LaunchQueue&) = delete;
  LaunchQueue& operator=(const LaunchQueue&) = delete;
  ~LaunchQueue();

  // To be called ahead of every launch: waits until few enough are in `stream`.
  Status MakeRoom(Communicator& communicator, cudaStream_t stream, Duration timeout);

 private:
  // An event every kStep launches; CUDA holds about a thousand.
  static constexpr int64_t kStep = 64;
  static constexpr size_t kSteps = 4;

  std::array<cudaEvent_t, kSteps> events_{};
  int64_t launches_ = 0;
};

}  // namespace assay
