// Host memory that a GPU copies from and to.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <string>
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
    std::swap(node_, other.node_);
    return *this;
  }
  ~HostMemory();

  // Memory of the NUMA node that `numa` (the words of NumaParameter) means for GPU
  // `ordinal`, all of it touched. Pinned memory is what the GPU reaches by itself.
  // Unsupported() if there is no such node; OUT_OF_MEMORY if the host has less or refuses:
  // the error says how much it has.
  static Result<HostMemory> Allocate(int64_t bytes, bool pinned, int ordinal,
                                     const std::string& numa);

  uint64_t* words() const { return static_cast<uint64_t*>(data_); }
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  // Where it is: "host memory on NUMA node 1", or "host memory" if nobody tells.
  std::string Place() const {
    return "host memory" + (node_ ? " on NUMA node " + std::to_string(*node_) : "");
  }

 private:
  void* data_ = nullptr;
  int64_t bytes_ = 0;
  bool pinned_ = false;
  std::optional<int> node_;
};

}  // namespace assay
