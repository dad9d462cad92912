// A chain of pointers in memory, which makes each load depend on the previous one. Each element
// holds the address of another, and together they form a single random cycle through all elements.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/memory/random_cycle.cuh"

namespace assay {

inline constexpr int64_t kPointerBytes = 8;

// A chain of pointers with one element every `stride` bytes, starting at `base`. The first 8 bytes
// of an element contain the address of the next element of `cycle`. The memory is not owned, and
// may be any memory that the GPU can access.
struct PointerChain {
  char* base = nullptr;
  int64_t stride = 0;
  RandomCycle cycle;

  __host__ __device__ char* Element(int64_t position) const {
    return base + cycle.At(position) * stride;
  }
  __host__ __device__ int64_t bytes() const { return cycle.elements * stride; }
};

// Enqueues a kernel that writes every element of the chain.
Status BuildChain(const PointerChain& chain, cudaStream_t stream);

// Checks a chain of pointers on the GPU. Returns how many elements do not point to the next element
// of the cycle or are visited more than once. Waits for `stream`.
Result<Mismatches> CheckChain(const PointerChain& chain, cudaStream_t stream);

// Returns the verdict on a chain of pointers and on a walk along it. `mismatches` are the wrong
// elements of the chain. `end` is the byte offset at which the walk ended, and `expected` is where
// it should have ended.
Verdict ChainVerdict(int64_t end, int64_t expected, const Mismatches& mismatches, int64_t elements);

#ifdef __CUDACC__
__device__ inline uint64_t LoadGlobal(uint64_t address) {
  uint64_t next;
  asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(next) : "l"(address) : "memory");
  return next;
}
#endif

}  // namespace assay
