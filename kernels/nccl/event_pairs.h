// Events around each of several pieces of work, which give the time inside each.
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "kernels/cuda/frame/cuda_check.h"

namespace assay {

// Owns its events. Used by one thread, with one GPU.
class EventPairs {
 public:
  EventPairs() = default;
  EventPairs(const EventPairs&) = delete;
  EventPairs& operator=(const EventPairs&) = delete;
  ~EventPairs() {
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }

  // Must be called before and after each piece.
  Status Record(cudaStream_t stream) {
    cudaEvent_t event = nullptr;
    ASSAY_CUDA(cudaEventCreate(&event));
    events_.push_back(event);
    ASSAY_CUDA(cudaEventRecord(event, stream));
    return Status::Ok();
  }

  // Appends the seconds inside each piece. All must have ended.
  Status Read(std::vector<double>* seconds) const {
    for (size_t i = 0; i + 1 < events_.size(); i += 2) {
      float milliseconds = 0;
      ASSAY_CUDA(cudaEventElapsedTime(&milliseconds, events_[i], events_[i + 1]));
      seconds->push_back(milliseconds * 1e-3);
    }
    return Status::Ok();
  }

 private:
  std::vector<cudaEvent_t> events_;
};

}  // namespace assay
