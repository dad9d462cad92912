// Copies from global to shared memory that need no register and no waiting thread
// (cp.async of compute capability 8.0); older GPUs copy at once.
#pragma once

#include <cstdint>
#include <type_traits>

namespace assay {

// Copies kBytes (4, 8 or 16), both sides aligned to that, or clears them if not `valid`;
// then `from` is not read and only has to be some address of the array. 16 bytes pass by
// the L1 cache, fewer go through it.
template <int kBytes>
__device__ inline void CopyAsync(void* to, const void* from, bool valid) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = valid ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
                 "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(address), "l"(from),
                 "r"(bytes), "n"(kBytes)
                 : "memory");
  }
#else
  using Narrow = std::conditional_t<kBytes == 8, uint2, uint32_t>;
  using Bytes = std::conditional_t<kBytes == 16, uint4, Narrow>;
  *static_cast<Bytes*>(to) = valid ? *static_cast<const Bytes*>(from) : Bytes{};
#endif
}

// Copies 16 bytes, always: without the register that says how many.
__device__ inline void CopyAsync16(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
  *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
#endif
}

// Closes a group of this thread's copies.
__device__ inline void CommitCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most this thread's latest `kPending` groups are under way.
template <int kPending>
__device__ inline void WaitForCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace assay
