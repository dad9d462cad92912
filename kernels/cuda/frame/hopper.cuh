// Wrappers for PTX instructions of Hopper (sm_90a) that have no equivalent in CUDA C++: mbarriers,
// bulk tensor copies (TMA) and the synchronization of warpgroups. The matrix multiplications
// themselves are in wgmma.cuh. Code that uses registers of warpgroups or wgmma must be under
// __CUDA_ARCH_FEAT_SM90_ALL. The rest needs only __CUDA_ARCH__ >= 900.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace assay::hopper {

__device__ inline uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- mbarriers

__device__ inline void InitBarrier(uint64_t* barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedAddress(barrier)),
               "r"(arrivals));
}

// Makes initialized barriers visible to the cluster and to the copy engine (TMA).
__device__ inline void FenceBarrierInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void Arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(barrier)) : "memory");
}

// Arrives on the barrier and makes its current phase also wait for `bytes` of copied data.
__device__ inline void ArriveExpect(uint64_t* barrier, uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)),
      "r"(bytes)
      : "memory");
}

// Arrives at a barrier of block `rank` of this cluster: the one at the same offset in that block's
// shared memory as `barrier` in this block's. Does not wait until all of the thread's stores are
// visible, as .release.cluster would, because callers have only read data with the tensor cores.
__device__ inline void ArriveRemote(uint64_t* barrier, uint32_t rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}\n" ::"r"(SharedAddress(barrier)),
      "r"(rank)
      : "memory");
}

// Waits until the barrier's phase with the given parity (0 or 1) has completed.
__device__ inline void WaitBarrier(uint64_t* barrier, uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra finished;\n"
      "bra again;\n"
      "finished:\n"
      "}\n" ::"r"(SharedAddress(barrier)),
      "r"(parity)
      : "memory");
}

__device__ inline void SyncCluster() {
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;\n" ::
          : "memory");
}

__device__ inline uint32_t ClusterRank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Sends `value` to the shared memory of block `rank` of this cluster. `to` and `barrier` are
// addresses in this block; block `rank` uses the same offsets in its own shared memory. Its barrier
// counts the bytes as they arrive. The size of `value` must be a multiple of 4 bytes.
template <typename T>
__device__ void SendToBlock(const T& value, T* to, uint64_t* barrier, uint32_t rank) {
  constexpr int kWords = sizeof(T) / 4;
  uint32_t words[kWords];
  memcpy(words, &value, sizeof words);
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    asm volatile(
        "{\n"
        ".reg .b32 to, barrier;\n"
        "mapa.shared::cluster.u32 to, %0, %3;\n"
        "mapa.shared::cluster.u32 barrier, %2, %3;\n"
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [to], %1, [barrier];\n"
        "}\n" ::"r"(SharedAddress(to) + 4 * i),
        "r"(words[i]), "r"(SharedAddress(barrier)), "r"(rank)
        : "memory");
  }
}

// ---- bulk copies

// Copies `bytes` bytes to shared memory, for data that is read only once: the L2 cache evicts it
// before any other data. `barrier` counts the bytes as they arrive. `to`, `from` and `bytes` must
// be multiples of 16.
__device__ inline void CopyBytesOnce(void* to, const void* from, uint32_t bytes,
                                     uint64_t* barrier) {
  asm volatile(
      "{\n"
      ".reg .b64 policy;\n"
      "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1], %2, [%3], policy;\n"
      "}\n" ::"r"(SharedAddress(to)),
      "l"(from), "r"(bytes), "r"(SharedAddress(barrier))
      : "memory");
}

// ---- bulk tensor copies

// Copies the map's box at (x, y) to shared memory; `barrier` counts the bytes as they arrive.
__device__ inline void LoadBox(void* to, const CUtensorMap* map, int x, int y, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3}], [%4];" ::"r"(SharedAddress(to)),
      "l"(map), "r"(x), "r"(y), "r"(SharedAddress(barrier))
      : "memory");
}

// Does the same as LoadBox, but for data that is read only once. The L2 cache evicts this data
// before any other.
__device__ inline void LoadBoxOnce(void* to, const CUtensorMap* map, int x, int y,
                                   uint64_t* barrier) {
  asm volatile(
      "{\n"
      ".reg .b64 policy;\n"
      "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".L2::cache_hint [%0], [%1, {%2, %3}], [%4], policy;\n"
      "}\n" ::"r"(SharedAddress(to)),
      "l"(map), "r"(x), "r"(y), "r"(SharedAddress(barrier))
      : "memory");
}

// Copies the map's box at (x, y) to several blocks of the cluster at once: bit i of `mask` selects
// block i. `to` and `barrier` are addresses in this block; each selected block uses the same
// offsets in its own shared memory. Its barrier counts the bytes as they arrive.
__device__ inline void LoadBoxMulticast(void* to, const CUtensorMap* map, int x, int y,
                                        uint64_t* barrier, uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(SharedAddress(to)),
      "l"(map), "r"(x), "r"(y), "r"(SharedAddress(barrier)), "h"(mask)
      : "memory");
}

// Copies a box from this block's shared memory to (x, y) of the array in global memory. Parts
// outside the array are not written. Asynchronous: call CommitStores afterwards.
__device__ inline void StoreBox(const CUtensorMap* map, int x, int y, const void* from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
      "r"(x), "r"(y), "r"(SharedAddress(from))
      : "memory");
}

__device__ inline void CommitStores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until the copy engine has read the shared memory of all StoreBox calls by this thread,
// except those in its latest `pending` groups.
template <int pending>
__device__ inline void WaitStoresRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

__device__ inline void PrefetchMap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Makes this thread's writes to shared memory visible to later reads by the copy engine (TMA).
__device__ inline void FenceForCopyEngine() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- warpgroups

template <int registers>
__device__ inline void IncreaseRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}

template <int registers>
__device__ inline void DecreaseRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

// Waits until `threads` threads, including this one, have arrived at barrier `id`. `threads` must
// be a multiple of 32. Barrier 0 is the one that __syncthreads uses.
__device__ inline void SyncNamed(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Arrives on barrier `id`, which expects `threads` threads, without waiting.
__device__ inline void SignalNamed(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Keeps the compiler from moving uses of these registers across the wait that guards them.
template <typename Register, int count>
__device__ inline void Pin(Register (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<Register, float>) {
      asm volatile("" : "+f"(registers[i])::"memory");
    } else {
      asm volatile("" : "+r"(registers[i])::"memory");
    }
  }
}

__device__ inline void MatrixFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void MatrixCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int pending>
__device__ inline void MatrixWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// Unit of addresses and distances in shared-memory descriptors, in bytes.
constexpr int kDescriptorUnit = 16;

// Returns the wgmma descriptor of a matrix operand in shared memory with the 128-byte swizzle.
// The matrix consists of units of 8 rows of 128 bytes, aligned to 1024 bytes.
// - If stored along k, `stride_bytes` is the distance between groups of 8 rows of M or N, and
//   `leading_bytes` is unused.
// - If stored along M or N, a row has 64 elements with the same k. `stride_bytes` is the distance
//   between groups of 8 values of k, and `leading_bytes` that between groups of 64 elements.
__device__ inline uint64_t SwizzledOperand(const void* begin, uint32_t leading_bytes,
                                           uint32_t stride_bytes) {
  const uint64_t address = (SharedAddress(begin) & 0x3ffff) >> 4;
  return address | uint64_t{leading_bytes >> 4} << 16 | uint64_t{stride_bytes >> 4} << 32 |
         uint64_t{1} << 62;
}

// Stores four 8 x 8 matrices of 16-bit elements from the registers of a warp to shared memory. Lane
// l passes the address of row l % 8 of matrix l / 8.
__device__ inline void StoreMatrices(uint32_t address, uint32_t r0, uint32_t r1, uint32_t r2,
                                     uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}

}  // namespace assay::hopper
