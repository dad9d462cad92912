// Wrappers for the tensor core instructions of Ampere and newer GPUs, which load matrices from
// shared memory into registers and multiply them. On older GPUs the wrappers do nothing.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace assay {

// Loads four 8 x 8 matrices of 16-bit elements from shared memory into the registers of a warp.
// Lane l passes the address of row l % 8 of matrix l / 8. From row l / 4 of each matrix, the lane
// receives the elements in columns l % 4 * 2 and l % 4 * 2 + 1. LoadMatricesTransposed transposes
// each matrix.
__device__ inline void LoadMatrices(uint32_t address, uint32_t (&to)[4]) {
#if __CUDA_ARCH__ >= 800
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
#endif
}

__device__ inline void LoadMatricesTransposed(uint32_t address, uint32_t (&to)[4]) {
#if __CUDA_ARCH__ >= 800
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
#endif
}

// Computes d += A B across a warp (mma.sync). A is 16 x 16, B is 16 x 8 and d is 16 x 8; k is the
// index that A and B share. T is fp16 or bf16. With g = lane / 4 and t = lane % 4, a lane passes:
//   a[0], a[1]: rows g and g + 8 of A, at k = 2t and 2t + 1
//   a[2], a[3]: the same rows, at k = 2t + 8 and 2t + 9
//   b0, b1: column g of B, at the same values of k as a[0] and a[2]
//   d[0], d[1]: row g of d, columns 2t and 2t + 1
//   d[2], d[3]: row g + 8 of d, the same columns
template <typename T>
__device__ inline void MultiplyTile(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                    uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<T, __half>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#endif
}

// Computes d += A B across a warp (mma.sync). A is 16 x 32 unsigned bytes, B is 32 x 8 signed bytes
// and d is 16 x 8 integers; k is the index that A and B share. With g = lane / 4 and t = lane % 4,
// a lane passes:
//   a[0], a[1]: rows g and g + 8 of A, at k = 4t to 4t + 3
//   a[2], a[3]: the same rows, at k = 4t + 16 to 4t + 19
//   b0, b1: column g of B, at the same values of k as a[0] and a[2]
//   d[0], d[1]: row g of d, columns 2t and 2t + 1
//   d[2], d[3]: row g + 8 of d, the same columns
__device__ inline void MultiplyBytes(uint32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                     uint32_t b1) {
#if __CUDA_ARCH__ >= 800
  const uint32_t c[4] = {d[0], d[1], d[2], d[3]};
  asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%10, %11, %12, %13};"
      : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c[0]), "r"(c[1]),
        "r"(c[2]), "r"(c[3]));
#endif
}

}  // namespace assay
