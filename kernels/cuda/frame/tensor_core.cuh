// Tensor core instructions of Ampere and newer: loading matrices from shared memory to registers,
// and multiplying them. They do nothing on older GPUs.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace assay {

// Loads four 8 x 8 matrices of 16-bit elements; lane l supplies the address, in shared memory, of
// row l % 8 of matrix l / 8. For each matrix it receives the two elements from column l % 4 * 2 of
// row l / 4, or, transposed, those two of the transposed matrix.
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

// Computes d += A B: A 16 x 16, B 16 x 8, d 16 x 8. With g = lane / 4 and t = lane % 4, a lane
// holds two elements per register of A: rows g, g + 8, g, g + 8 at k = 2t, 2t, 2t + 8, 2t + 8. It
// holds column g of B at the same two k, and (g, 2t), (g, 2t + 1), (g + 8, 2t) and (g + 8, 2t + 1)
// of d. T is fp16 or bf16.
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

// Computes d += A B: A 16 x 32 of unsigned bytes, B 32 x 8 of signed bytes, d 16 x 8 of integers,
// laid out as in MultiplyTile. A lane holds four bytes per register of A: rows g, g + 8, g, g + 8
// at k = 4t, 4t, 4t + 16, 4t + 16. It holds column g of B at the same two k.
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
