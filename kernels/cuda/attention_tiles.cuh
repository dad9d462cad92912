// What the flash kernels of `attention` share.
#pragma once

#include <cstdint>

namespace assay {

// Copies 16 bytes of global to shared memory in the background, or clears them if not
// `valid`; then `from` only has to be some address of the array. Compute capability 8.0;
// older GPUs copy at once.
__device__ inline void CopyAsync16(void* to, const void* from, bool valid) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(bytes)
               : "memory");
#else
  *static_cast<uint4*>(to) = valid ? *static_cast<const uint4*>(from) : make_uint4(0, 0, 0, 0);
#endif
}

// Closes a group of copies.
__device__ inline void CopyAsyncCommit() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most `pending` of this thread's latest groups are under way.
template <int pending>
__device__ inline void CopyAsyncWait() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

// 2^x by the special-function unit, 2 ulp; 2^-inf is 0.
__device__ inline float ExponentialBase2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Which rows of which head a block computes. Causal: the longest ones begin first.
struct QueryTile {
  int64_t head;
  int first;    // Query row.
  int end_key;  // Keys that some row of the tile sees: [0, end_key).
};

__device__ inline QueryTile TileOfBlock(int n, int rows, bool causal) {
  const unsigned tiles = (n + rows - 1) / rows;
  const int first = static_cast<int>(tiles - 1 - blockIdx.x % tiles) * rows;
  return {blockIdx.x / tiles, first, causal ? min(n, first + rows) : n};
}

}  // namespace assay
