// Streams and events that order work on several streams of one GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "common/status.h"
#include "kernels/cuda/frame/cuda_check.h"

namespace assay {

// A stream whose kernels get free multiprocessors before those of other streams, for kernels that
// move data and need few. Does not wait for the default stream. Owned.
class UrgentStream {
 public:
  UrgentStream() = default;
  UrgentStream(UrgentStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  UrgentStream& operator=(UrgentStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~UrgentStream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  // Creates it on the current GPU.
  static Result<UrgentStream> Create() {
    int least = 0;
    int greatest = 0;
    ASSAY_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    UrgentStream made;
    ASSAY_CUDA(cudaStreamCreateWithPriority(&made.stream_, cudaStreamNonBlocking, greatest));
    return made;
  }

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// A point in one stream that other streams can wait for. Owned.
class OrderEvent {
 public:
  OrderEvent() = default;
  OrderEvent(OrderEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  OrderEvent& operator=(OrderEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~OrderEvent() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

  // On the current GPU.
  static Result<OrderEvent> Create() {
    OrderEvent made;
    ASSAY_CUDA(cudaEventCreateWithFlags(&made.event_, cudaEventDisableTiming));
    return made;
  }

  // Makes later work on `later` wait for the work that is on `earlier` now.
  Status Order(cudaStream_t earlier, cudaStream_t later) const {
    ASSAY_RETURN_IF_ERROR(Record(earlier));
    return Await(later);
  }
  Status Record(cudaStream_t stream) const {
    ASSAY_CUDA(cudaEventRecord(event_, stream));
    return Status::Ok();
  }
  Status Await(cudaStream_t stream) const {
    ASSAY_CUDA(cudaStreamWaitEvent(stream, event_, 0));
    return Status::Ok();
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace assay
