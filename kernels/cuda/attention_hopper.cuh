// What the kernel of `flash_wgmma` adds to matmul_hopper.cuh: copies of tiles of arrays of
// four dimensions, and products of a warpgroup with 64 or 128 columns.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/matmul_hopper.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
namespace assay::hopper {

__device__ inline void Arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(barrier)) : "memory");
}

// Arrives on barrier `id`, where `threads` threads are due, and goes on at once.
__device__ inline void SignalNamed(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Brings the box of `map` at (0, row, 0, head); completes on `barrier`.
__device__ inline void LoadTile(void* to, const CUtensorMap* map, int row, int head,
                                uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %2, %4}], [%5];" ::"r"(SharedAddress(to)),
      "l"(map), "r"(0), "r"(row), "r"(head), "r"(SharedAddress(barrier))
      : "memory");
}

// The other way; rows beyond the array are left out. Followed by CommitStores.
__device__ inline void StoreTile(const CUtensorMap* map, const void* from, int row, int head) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %1, %3}], [%4];" ::"l"(
          map),
      "r"(0), "r"(row), "r"(head), "r"(SharedAddress(from))
      : "memory");
}

// Keeps the compiler from moving uses of registers across the waits that guard them.
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

#define ASSAY_WGMMA_REGISTERS_32                                                                \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define ASSAY_WGMMA_REGISTERS_64                                                                \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, " \
  "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "  \
  "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "  \
  "%56, %57, %58, %59, %60, %61, %62, %63}"
#define ASSAY_WGMMA_RESULTS_8(i)                                                        \
  "+f"(c[(i)]), "+f"(c[(i) + 1]), "+f"(c[(i) + 2]), "+f"(c[(i) + 3]), "+f"(c[(i) + 4]), \
      "+f"(c[(i) + 5]), "+f"(c[(i) + 6]), "+f"(c[(i) + 7])
#define ASSAY_WGMMA_RESULTS_32                                                   \
  ASSAY_WGMMA_RESULTS_8(0), ASSAY_WGMMA_RESULTS_8(8), ASSAY_WGMMA_RESULTS_8(16), \
      ASSAY_WGMMA_RESULTS_8(24)
#define ASSAY_WGMMA_RESULTS_64                                                  \
  ASSAY_WGMMA_RESULTS_32, ASSAY_WGMMA_RESULTS_8(32), ASSAY_WGMMA_RESULTS_8(40), \
      ASSAY_WGMMA_RESULTS_8(48), ASSAY_WGMMA_RESULTS_8(56)

// c (64 x 64) = a b, or += if `add`: a 64 x 16 and b 64 x 16 in shared memory, both stored
// along the 16.
#define ASSAY_WGMMA_SHARED_64(type)                                                            \
  asm volatile(                                                                                \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"                                             \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " " ASSAY_WGMMA_REGISTERS_32 \
      ", %32, %33, p, 1, 1, 0, 0;\n}\n"                                                        \
      : ASSAY_WGMMA_RESULTS_32                                                                 \
      : "l"(a), "l"(b), "r"(add))
// c (64 x 128) = a b, or += if `add`: a 64 x 16 and b 128 x 16 in shared memory, both stored
// along the 16.
#define ASSAY_WGMMA_SHARED_128(type)                                                            \
  asm volatile(                                                                                 \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"                                              \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " " ASSAY_WGMMA_REGISTERS_64 \
      ", %64, %65, p, 1, 1, 0, 0;\n}\n"                                                         \
      : ASSAY_WGMMA_RESULTS_64                                                                  \
      : "l"(a), "l"(b), "r"(add))
// The same with a in registers and b, 16 x 64, stored along the 64.
#define ASSAY_WGMMA_REGISTER_64(type)                                                          \
  asm volatile(                                                                                \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"                                             \
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." type "." type " " ASSAY_WGMMA_REGISTERS_32 \
      ", {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}\n"                                          \
      : ASSAY_WGMMA_RESULTS_32                                                                 \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add))
// The same with a in registers and b, 16 x 128, stored along the 128.
#define ASSAY_WGMMA_REGISTER_128(type)                                                          \
  asm volatile(                                                                                 \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"                                              \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " " ASSAY_WGMMA_REGISTERS_64 \
      ", {%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}\n"                                           \
      : ASSAY_WGMMA_RESULTS_64                                                                  \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add))

template <typename T>
__device__ inline void MultiplyShared(float (&c)[32], uint64_t a, uint64_t b, int add) {
  if constexpr (std::is_same_v<T, __half>) {
    ASSAY_WGMMA_SHARED_64("f16");
  } else {
    ASSAY_WGMMA_SHARED_64("bf16");
  }
}
template <typename T>
__device__ inline void MultiplyShared(float (&c)[64], uint64_t a, uint64_t b, int add) {
  if constexpr (std::is_same_v<T, __half>) {
    ASSAY_WGMMA_SHARED_128("f16");
  } else {
    ASSAY_WGMMA_SHARED_128("bf16");
  }
}

template <typename T>
__device__ inline void MultiplyRegister(float (&c)[32], const uint32_t* a, uint64_t b, int add) {
  if constexpr (std::is_same_v<T, __half>) {
    ASSAY_WGMMA_REGISTER_64("f16");
  } else {
    ASSAY_WGMMA_REGISTER_64("bf16");
  }
}
template <typename T>
__device__ inline void MultiplyRegister(float (&c)[64], const uint32_t* a, uint64_t b, int add) {
  if constexpr (std::is_same_v<T, __half>) {
    ASSAY_WGMMA_REGISTER_128("f16");
  } else {
    ASSAY_WGMMA_REGISTER_128("bf16");
  }
}

#undef ASSAY_WGMMA_REGISTERS_32
#undef ASSAY_WGMMA_REGISTERS_64
#undef ASSAY_WGMMA_RESULTS_8
#undef ASSAY_WGMMA_RESULTS_32
#undef ASSAY_WGMMA_RESULTS_64
#undef ASSAY_WGMMA_SHARED_64
#undef ASSAY_WGMMA_SHARED_128
#undef ASSAY_WGMMA_REGISTER_64
#undef ASSAY_WGMMA_REGISTER_128

}  // namespace assay::hopper
#endif
