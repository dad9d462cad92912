// One GPU as a case sees it: which it is, its memory, streams and buffers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <utility>

#include "common/number_text.h"
#include "common/status.h"

namespace assay {

struct GpuDevice {
  int ordinal = 0;
  int64_t l2_bytes = 0;
  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
  int64_t shared_bytes_per_block = 0;  // At most, after opting in.
};

// Makes GPU `ordinal` current for the calling thread. FAILED_PRECONDITION (NO_GPU)
// if this process does not see it.
Result<GpuDevice> UseGpu(int ordinal);

// Why there is no GPU (Benchmark::UnsupportedReason); empty if there is, or a fault hides it.
std::string WhyNoGpu();

// OK if `device` has compute capability major.minor or newer; else Unsupported():
// "fp8 needs compute capability 8.9; this GPU has 8.0".
Status NeedCapability(const GpuDevice& device, int major, int minor, const std::string& what);

// Bytes of the current GPU that a case may take now: what is free, less a reserve
// for the driver and for libraries.
Result<int64_t> AvailableDeviceBytes();

// Notes that a request of this process for GPU memory was refused, and what it lacked:
// what others hold is to blame if it is at least that. 0 forgets the last one.
void NoteMissingDeviceBytes(int64_t bytes);
// The same for a request of CUDA's own, whose size it does not tell.
void NoteMissingDeviceBytes();
// What the last refused request lacked, and forgets it; 0 if none was refused since.
int64_t TakeMissingDeviceBytes();

// Memory of the GPU that is current at allocation. Owned, released on destruction;
// the contents are undefined.
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

  // `purpose` completes "cannot allocate 4.0 GiB for ...". The OUT_OF_MEMORY error
  // says how much is free and what would fit.
  static Result<DeviceBuffer> Allocate(int64_t bytes, const std::string& purpose);

  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  // `offset` bytes into the buffer.
  void* At(int64_t offset) const { return static_cast<char*>(data_) + offset; }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
};

// A stream that does not wait for the default stream. Owned.
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

  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace assay
