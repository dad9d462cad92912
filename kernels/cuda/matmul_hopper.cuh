// PTX of sm_90a that CUDA C++ has no word for: mbarriers, bulk tensor copies (TMA) and
// warpgroup matrix multiplications. For code under __CUDA_ARCH_FEAT_SM90_ALL alone.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>

#include <cstdint>

namespace assay::hopper {

__device__ inline uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- mbarriers

__device__ inline void InitBarrier(uint64_t* barrier, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedAddress(barrier)),
               "r"(arrivals));
}

// Makes initialised barriers known to the cluster and to the copy engine.
__device__ inline void FenceBarrierInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// Arrives, and has the barrier wait for `bytes` of copies as well.
__device__ inline void ArriveExpect(uint64_t* barrier, uint32_t bytes) {
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)),
      "r"(bytes)
      : "memory");
}

// Arrives on the same barrier of block `rank` of the cluster. Without .release.cluster,
// which waits for all of the thread's stores as far as the GPU sees them, and has nothing
// to release here: what the tensor cores have read needs no fence.
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

// Returns once the phase of `parity` has completed.
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

// ---- bulk tensor copies

// Copies the box at (x, y) into this block; completes on `barrier`.
__device__ inline void LoadBox(void* to, const CUtensorMap* map, int x, int y, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3}], [%4];" ::"r"(SharedAddress(to)),
      "l"(map), "r"(x), "r"(y), "r"(SharedAddress(barrier))
      : "memory");
}

// Into the same place of every block of the cluster in `mask`, completing on each one's.
__device__ inline void LoadBoxMulticast(void* to, const CUtensorMap* map, int x, int y,
                                        uint64_t* barrier, uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(SharedAddress(to)),
      "l"(map), "r"(x), "r"(y), "r"(SharedAddress(barrier)), "h"(mask)
      : "memory");
}

// Copies the box at (x, y) out of this block's memory; what lies beyond the array's
// bounds is left out. Followed by CommitStores.
__device__ inline void StoreBox(const CUtensorMap* map, int x, int y, const void* from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map),
      "r"(x), "r"(y), "r"(SharedAddress(from))
      : "memory");
}

__device__ inline void CommitStores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Until all but the latest `pending` groups of this thread's stores have read their memory.
template <int pending>
__device__ inline void WaitStoresRead() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
}

__device__ inline void PrefetchMap(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

// Orders this thread's stores to shared memory before what the copy engine reads.
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

// A barrier of `threads` threads, a number of warps; barrier 0 is __syncthreads.
__device__ inline void SyncNamed(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ inline void MatrixFence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void MatrixCommit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int pending>
__device__ inline void MatrixWait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// Descriptors count bytes of shared memory in units of this.
constexpr int kDescriptorUnit = 16;

// Describes an operand in shared memory in the 128-byte swizzle. Its atoms are 8 rows of
// 128 bytes, aligned to 1024. K-major: `stride_bytes` from 8 rows of M or N to the
// next, `leading_bytes` unused. M- or N-major: a row is 64 elements of M or N at one k;
// `stride_bytes` from 8 k to the next, `leading_bytes` from 64 elements to the next.
__device__ inline uint64_t SwizzledOperand(const void* begin, uint32_t leading_bytes,
                                           uint32_t stride_bytes) {
  const uint64_t address = (SharedAddress(begin) & 0x3ffff) >> 4;
  return address | uint64_t{leading_bytes >> 4} << 16 | uint64_t{stride_bytes >> 4} << 32 |
         uint64_t{1} << 62;
}

// Four 8 x 8 matrices of 16-bit elements to shared memory; lane l gives the address of
// row l % 8 of matrix l / 8.
__device__ inline void StoreMatrices(uint32_t address, uint32_t r0, uint32_t r1, uint32_t r2,
                                     uint32_t r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(r0), "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}

#define ASSAY_D8(i)                                                                     \
  "+f"(d[(i)]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3]), "+f"(d[(i) + 4]), \
      "+f"(d[(i) + 5]), "+f"(d[(i) + 6]), "+f"(d[(i) + 7])
#define ASSAY_D32(i) ASSAY_D8(i), ASSAY_D8((i) + 8), ASSAY_D8((i) + 16), ASSAY_D8((i) + 24)

// D (fp32) = A B + (accumulate ? D : 0) over 16 k for 64 rows of A and 256 or 128 columns
// of B, bf16: A K-major, B N-major. Asynchronous: between MatrixFence and MatrixCommit.
__device__ inline void MultiplyAsync(float (&d)[128], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, "
      "%127}, %128, %129, p, 1, 1, 0, 1;\n"
      "}\n"
      : ASSAY_D32(0), ASSAY_D32(32), ASSAY_D32(64), ASSAY_D32(96)
      : "l"(a), "l"(b), "r"(accumulate));
}

__device__ inline void MultiplyAsync(float (&d)[64], uint64_t a, uint64_t b, int accumulate) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, "
      "p, 1, 1, 0, 1;\n"
      "}\n"
      : ASSAY_D32(0), ASSAY_D32(32)
      : "l"(a), "l"(b), "r"(accumulate));
}

#undef ASSAY_D32
#undef ASSAY_D8

}  // namespace assay::hopper
