// Copies from global to shared memory that need no register and no waiting thread
// (cp.async of compute capability 8.0); older GPUs copy at once.
#pragma once

#include <cstdint>

namespace assay {

// Copies kBytes (4 or 16), both sides aligned to that, or clears them if not `valid`;
// then `from` is not read.
template <int kBytes>
__device__ inline void CopyToShared(void* to, const void* from, bool valid) {
  static_assert(kBytes == 4 || kBytes == 16);
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = valid ? kBytes : 0;
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
                 "r"(bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(address), "l"(from),
                 "r"(bytes)
                 : "memory");
  }
#else
  if constexpr (kBytes == 16) {
    *static_cast<uint4*>(to) = valid ? *static_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
  } else {
    *static_cast<uint32_t*>(to) = valid ? *static_cast<const uint32_t*>(from) : 0;
  }
#endif
}

// Closes a group of this thread's copies.
__device__ inline void CommitCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most the latest `kPending` groups are under way.
template <int kPending>
__device__ inline void WaitForCopies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}

}  // namespace assay
