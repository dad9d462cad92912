// Host memory for CPU benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/status.h"

namespace assay {

// Page-aligned memory of `size()` elements, zero and not yet touched: a page goes to the NUMA node
// of the thread that first writes to it. Buffers in use together begin at different offsets within
// a large page.
template <typename T>
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(HostBuffer&& other) noexcept { *this = std::move(other); }
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~HostBuffer();

  // Returns RESOURCE_EXHAUSTED (OUT_OF_MEMORY) if the system refuses the memory.
  static Result<HostBuffer> Allocate(int64_t elements);

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }

 private:
  void* mapping_ = nullptr;  // From mmap; data_ lies in it.
  size_t mapped_bytes_ = 0;
  T* data_ = nullptr;
  int64_t size_ = 0;
};

// Returns OUT_OF_MEMORY if the machine, its control group or the process's address space has less
// than `bytes` left. Checking first makes a case fail, while touching memory that is not there
// would get the process killed. Libraries will map `mapped_by_libraries` bytes more of the address
// space. `what_fits` makes the hint from the available bytes.
Status CheckMemoryFor(double bytes,
                      const std::function<std::string(double available)>& what_fits = {},
                      double mapped_by_libraries = 0);

// Fills an array with uniform numbers in [-1, 1) that depend on the seed alone.
template <typename T>
void FillUniform(T* data, int64_t elements, uint64_t seed);

}  // namespace assay
