// Host memory for CPU benchmarks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/status.h"

namespace assay {

// A page-aligned array of `size()` zeros. Allocate() does not touch the memory, so each page is
// placed on the NUMA node of the thread that first writes to it. To avoid cache conflicts between
// buffers, they begin at different offsets within a large page.
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

  // Allocates the array. Returns RESOURCE_EXHAUSTED (OUT_OF_MEMORY) if the system refuses to
  // provide the memory.
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

// Returns OUT_OF_MEMORY if the machine, a control group or the address space limit prevents this
// process from getting `bytes` bytes of memory. Without this check, the system might kill the
// process when it touches the memory. `what_fits` converts the available bytes to a hint for the
// error message. `mapped_by_libraries` is the additional address space that libraries will need.
Status CheckMemoryFor(double bytes,
                      const std::function<std::string(double available)>& what_fits = {},
                      double mapped_by_libraries = 0);

// Fills an array with random numbers, uniformly distributed in [-1, 1), that depend only on the
// seed.
template <typename T>
void FillUniform(T* data, int64_t elements, uint64_t seed);

}  // namespace assay
