// Host memory that a GPU copies from and to.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <utility>

#include "common/status.h"

namespace assay {

// Page-aligned host memory. Owned.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(HostMemory&& other) noexcept { *this = std::move(other); }
  HostMemory& operator=(HostMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(pinned_, other.pinned_);
    return *this;
  }
  ~HostMemory();

  // Memory of the NUMA node next to GPU `ordinal`, where the system tells it, all of it
  // touched. Pinned memory is what the GPU reaches by itself. OUT_OF_MEMORY if the host
  // has less or refuses; the error says how much it has.
  static Result<HostMemory> Allocate(int64_t bytes, bool pinned, int ordinal);

  uint64_t* words() const { return static_cast<uint64_t*>(data_); }
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
  bool pinned_ = false;
};

}  // namespace assay
