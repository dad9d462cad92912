// One GPU as a benchmark case uses it: its properties, memory, streams and events.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <utility>

#include "common/status.h"

namespace assay {

struct GpuDevice {
  int ordinal = 0;
  int64_t l2_bytes = 0;
  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
  int64_t shared_bytes_per_block = 0;  // The maximum, after opting in.
};

// Makes the GPU with CUDA index `ordinal` current for the calling thread and returns its
// properties. Returns FAILED_PRECONDITION (NO_GPU) if this process sees no such GPU.
Result<GpuDevice> UseGpu(int ordinal);

// Returns why this process sees no GPU, as text for Benchmark::UnsupportedReason. Returns an
// empty string if there is a GPU, or if a CUDA error makes it impossible to tell.
std::string WhyNoGpu();

// Returns Unsupported() if the compute capability of `device` is below major.minor. `what` names
// the feature that requires it, for an error message such as "fp8 needs compute capability 8.9;
// this GPU has 8.0".
Status NeedCapability(const GpuDevice& device, int major, int minor, const std::string& what);

// Returns how many more bytes a benchmark may allocate on the current GPU: the free memory minus
// a reserve for the driver and libraries.
Result<int64_t> AvailableDeviceBytes();

// Records that this process failed to get GPU memory because `bytes` more bytes would have been
// needed. If other processes hold at least that much memory, a later error report blames them. A
// value of 0 clears the record. Thread-safe.
void NoteMissingDeviceBytes(int64_t bytes);
// Records that CUDA itself refused an allocation, so the number of missing bytes is unknown.
void NoteMissingDeviceBytes();
// Returns and resets the number of bytes missing when this process last failed to get GPU memory.
// Returns 0 if no request has failed since the last call.
int64_t TakeMissingDeviceBytes();

// An uninitialized buffer in the memory of the GPU that was current when it was allocated. Owns the
// memory and frees it on destruction.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~DeviceBuffer() { cudaFree(data_); }

  // Allocates GPU memory. `purpose` completes the error message "cannot allocate 4.0 GiB for ...".
  // On failure, the OUT_OF_MEMORY error says how much memory is free and what size would fit.
  static Result<DeviceBuffer> Allocate(int64_t bytes, const std::string& purpose);

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  // Returns the address `offset` bytes into the buffer.
  void* At(int64_t offset) const { return static_cast<char*>(data_) + offset; }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// An owned CUDA stream on the GPU that is current at Create. Does not wait for the default stream.
class CudaStream {
 public:
  CudaStream() = default;
  CudaStream(CudaStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~CudaStream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  static Result<CudaStream> Create();
  // Creates a high-priority stream, whose kernels get free multiprocessors before those of other
  // streams. Intended for kernels that move data and need few multiprocessors.
  static Result<CudaStream> CreateUrgent();

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// An owned CUDA event, which marks a point in a stream. Belongs to the GPU current at Create.
class CudaEvent {
 public:
  CudaEvent() = default;
  CudaEvent(CudaEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~CudaEvent() {
    if (event_ != nullptr) cudaEventDestroy(event_);
  }

  // Creates an event that also records the time.
  static Result<CudaEvent> CreateTimed() { return Create(cudaEventDefault); }
  // Creates an event that only orders streams, which is faster.
  static Result<CudaEvent> Create() { return Create(cudaEventDisableTiming); }

  Status Record(cudaStream_t stream) const;
  // Makes work enqueued later on `stream` wait for the work that preceded Record.
  Status Await(cudaStream_t stream) const;
  // Makes work enqueued later on `later` wait for all work that is on `earlier` now.
  Status Order(cudaStream_t earlier, cudaStream_t later) const;

  cudaEvent_t get() const { return event_; }

 private:
  static Result<CudaEvent> Create(unsigned flags);

  cudaEvent_t event_ = nullptr;
};

}  // namespace assay
