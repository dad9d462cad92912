// Host memory for CPU benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/status.h"

namespace assay {

// Page-aligned memory of `size()` elements, zero, and not yet touched: pages go to
// the NUMA node of the thread that first writes them. No two buffers in use together
// begin at the same place of a large page.
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

  // RESOURCE_EXHAUSTED (OUT_OF_MEMORY) if the system refuses.
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

// OUT_OF_MEMORY if `bytes` are more than the machine or its control group has left, or
// than the process may map beside `mapped_by_libraries` bytes: asking first is how a
// benchmark fails instead of being killed. `what_fits` makes the hint from the bytes that
// are available.
Status CheckMemoryFor(double bytes,
                      const std::function<std::string(double available)>& what_fits = {},
                      double mapped_by_libraries = 0);

// Uniform in [-1, 1), the same for the same seed everywhere.
template <typename T>
void FillUniform(T* data, int64_t elements, uint64_t seed);

}  // namespace assay
