// A chain of dependent loads: each element in memory holds the address of the next element of one
// random cycle through all of them.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/memory/random_cycle.cuh"

namespace assay {

inline constexpr int64_t kPointerBytes = 8;

// A chain with one element every `stride` bytes. An element starts with the address of the cycle's
// next element. The memory may be any that the GPU can access at this address.
struct PointerChain {
  char* base = nullptr;
  int64_t stride = 0;
  RandomCycle cycle;

  __host__ __device__ char* Element(int64_t position) const {
    return base + cycle.At(position) * stride;
  }
  __host__ __device__ int64_t bytes() const { return cycle.elements * stride; }
};

// Enqueues writing every element.
Status BuildChain(const PointerChain& chain, cudaStream_t stream);

// Returns the number of elements that do not lead to the next, or that the cycle visits twice.
// Synchronises.
Result<Mismatches> CheckChain(const PointerChain& chain, cudaStream_t stream);

// Returns the verdict on the chain's elements and on the end of the walk, in bytes.
Verdict ChainVerdict(int64_t end, int64_t expected, const Mismatches& mismatches, int64_t elements);

#ifdef __CUDACC__
__device__ inline uint64_t LoadGlobal(uint64_t address) {
  uint64_t next;
  asm volatile("ld.global.ca.u64 %0, [%1];" : "=l"(next) : "l"(address) : "memory");
  return next;
}
#endif

}  // namespace assay
