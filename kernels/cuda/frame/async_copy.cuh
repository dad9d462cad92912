// Device functions that copy from global to shared memory asynchronously with cp.async, which
// requires compute capability 8.0. The copies use no registers and do not block the thread. On
// older GPUs the functions copy synchronously.
#pragma once

#include <cstdint>
#include <type_traits>

namespace assay {

// Starts an asynchronous copy of kBytes (4, 8 or 16) from global to shared memory. Both addresses
// must be multiples of kBytes. If `valid` is false, zeros are written instead and `from` is not
// read, but it must still point into a valid allocation. Copies of 16 bytes bypass the L1 cache;
// smaller ones do not.
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

// Starts an asynchronous copy of 16 bytes from global to shared memory. Unlike CopyAsync, it
// always copies, which saves the register that holds the number of bytes.
__device__ inline void CopyAsync16(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from) : "memory");
#else
  *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
#endif
}

// Makes a group of the copies that this thread has started since the previous call.
__device__ inline void CommitCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until this thread's asynchronous copies have completed, except those of the latest
// `kPending` groups (see CommitCopies).
template <int kPending>
__device__ inline void WaitForCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace assay
