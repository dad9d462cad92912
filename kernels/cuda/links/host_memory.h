// Host memory for copies between the host and a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "common/status.h"

namespace assay {

// Page-aligned host memory, which the object owns.
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

  // Allocates `bytes` of host memory and touches every page. If `pinned`, the memory is
  // page-locked, so that the GPU can access it directly. `numa` selects the NUMA node: "local" is
  // near GPU `ordinal`, "remote" is far from it, and "any" leaves the choice to the system. Errors:
  // - Unsupported() if the machine has no such node;
  // - OUT_OF_MEMORY, with the available size, if the host has too little memory or refuses the
  //   allocation.
  static Result<HostMemory> Allocate(int64_t bytes, bool pinned, int ordinal,
                                     const std::string& numa);

  uint64_t* words() const { return static_cast<uint64_t*>(data_); }
  void* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  // Returns where the memory is, such as "host memory on NUMA node 1", or plain "host memory" if
  // the node is unknown.
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
