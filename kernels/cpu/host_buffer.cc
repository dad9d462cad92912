#include "kernels/cpu/host_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include "common/units.h"
#include "host/memory.h"
#include "kernels/benchmark.h"
#include "kernels/random.h"

namespace assay {
namespace {

// The size of a page. Each buffer begins one page further into its memory mapping than the previous
// one, because arrays at the same offset within a 2 MiB page compete for the same cache sets. On an
// EPYC, STREAM's triad took 1.8 times as long with such arrays.
constexpr size_t kPageBytes = 4096;
constexpr size_t kPlaces = 16;
std::atomic<size_t> next_place{0};

}  // namespace

template <typename T>
Result<HostBuffer<T>> HostBuffer<T>::Allocate(int64_t elements) {
  HostBuffer buffer;
  buffer.mapped_bytes_ = static_cast<size_t>(elements) * sizeof(T) + kPlaces * kPageBytes;
  void* const mapping = mmap(nullptr, buffer.mapped_bytes_, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return OutOfMemory("the host refused " +
                       ApproximateBytes(static_cast<int64_t>(buffer.mapped_bytes_)));
  }
  buffer.mapping_ = mapping;
  const size_t place = next_place.fetch_add(1) % kPlaces;
  buffer.data_ = reinterpret_cast<T*>(static_cast<char*>(mapping) + place * kPageBytes);
  buffer.size_ = elements;
  return buffer;
}

template <typename T>
HostBuffer<T>::~HostBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

Status CheckMemoryFor(double bytes, const std::function<std::string(double)>& what_fits,
                      double mapped_by_libraries) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const auto host = AvailableHostBytes();
  double available = host ? static_cast<double>(*host) : kUnknown;
  const auto space = AddressSpaceLeft();
  const double mappable =
      space ? std::max(0.0, static_cast<double>(*space) - mapped_by_libraries) : kUnknown;
  const bool limited = mappable < available;
  available = std::min(available, mappable);
  if (bytes <= available) return Status::Ok();
  const Status refused =
      OutOfMemory("the case needs " + ApproximateBytes(static_cast<int64_t>(bytes)) +
                  " of host memory; " + ApproximateBytes(static_cast<int64_t>(available)) +
                  " are available" + (limited ? " below the limit of its address space" : ""));
  return what_fits && available > 0 ? refused.WithHint(what_fits(available)) : refused;
}

template <typename T>
void FillUniform(T* data, int64_t elements, uint64_t seed) {
  for (int64_t i = 0; i < elements; ++i) {
    // Uses the upper 24 bits, because fp32 also represents such numbers exactly.
    const auto bits = static_cast<int64_t>(RandomAt(seed, static_cast<uint64_t>(i)) >> 40);
    data[i] = static_cast<T>(bits - (int64_t{1} << 23)) / static_cast<T>(int64_t{1} << 23);
  }
}

template class HostBuffer<float>;
template class HostBuffer<double>;
template void FillUniform(float*, int64_t, uint64_t);
template void FillUniform(double*, int64_t, uint64_t);

}  // namespace assay
