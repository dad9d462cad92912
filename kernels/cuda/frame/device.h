// One GPU from a case's point of view: its properties, memory, streams and buffers.
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

// Makes GPU `ordinal` current for the calling thread. Returns FAILED_PRECONDITION (NO_GPU) if this
// process does not see it.
Result<GpuDevice> UseGpu(int ordinal);

// Returns the reason why there is no GPU (Benchmark::UnsupportedReason); empty if there is one, or
// if an error hides it.
std::string WhyNoGpu();

// Checks that `device` has compute capability major.minor or newer, else returns Unsupported():
// "fp8 needs compute capability 8.9; this GPU has 8.0".
Status NeedCapability(const GpuDevice& device, int major, int minor, const std::string& what);

// Returns the bytes of the current GPU that a case may allocate now: the free memory minus a
// reserve for the driver and libraries.
Result<int64_t> AvailableDeviceBytes();

// Records that a GPU memory request of this process was refused, and how many bytes were missing.
// Other processes are to blame if they hold at least that much. 0 clears the record.
void NoteMissingDeviceBytes(int64_t bytes);
// Records a refused request of CUDA itself, whose size is unknown.
void NoteMissingDeviceBytes();
// Returns how many bytes the last refused request lacked, and clears the record; 0 if there is
// none.
int64_t TakeMissingDeviceBytes();

// Memory of the GPU that is current at allocation. Owned, freed on destruction; the contents are
// undefined.
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

  // Allocates. `purpose` completes "cannot allocate 4.0 GiB for ...". The OUT_OF_MEMORY error says
  // how much is free and what would fit.
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

// A stream that does not wait for the default stream. Owned, on the GPU that is current at Create.
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
  // Creates a stream whose kernels get free multiprocessors before those of other streams, for
  // kernels that move data and need few.
  static Result<CudaStream> CreateUrgent();

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// A point in a stream. Owned, on the GPU that is current at Create.
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

  // Creates an event that also has a time.
  static Result<CudaEvent> CreateTimed() { return Create(cudaEventDefault); }
  // Creates an event that only orders streams, which is faster.
  static Result<CudaEvent> Create() { return Create(cudaEventDisableTiming); }

  Status Record(cudaStream_t stream) const;
  // Makes later work on `stream` wait for the work before Record.
  Status Await(cudaStream_t stream) const;
  // Makes later work on `later` wait for the work that is on `earlier` now.
  Status Order(cudaStream_t earlier, cudaStream_t later) const;

  cudaEvent_t get() const { return event_; }

 private:
  static Result<CudaEvent> Create(unsigned flags);

  cudaEvent_t event_ = nullptr;
};

}  // namespace assay
