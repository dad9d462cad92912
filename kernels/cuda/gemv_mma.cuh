// What kernels of skinny matrix products begin with, and the 16 x 8 x 16 tensor-core
// instruction that they multiply by. Compute capability 8.0 and newer.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace assay {

// Lets the next kernel of the stream begin where this one leaves room, if it was
// launched to (programmatic dependent launch); WaitForPrevious in that kernel returns
// once the previous kernel is complete. Neither does anything before Hopper.
__device__ inline void AllowNext() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ inline void WaitForPrevious() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// d += A B: A 16 x 16, B 16 x 8, d 16 x 8. With g = lane / 4 and t = lane % 4, a lane
// holds of A, two elements a register, rows g, g + 8, g, g + 8 at k = 2t, 2t, 2t + 8,
// 2t + 8; of B column g at the same two k; of d (g, 2t), (g, 2t + 1), (g + 8, 2t) and
// (g + 8, 2t + 1).
template <typename T>
__device__ void MultiplyTile(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1);

template <>
__device__ inline void MultiplyTile<__nv_bfloat16>(float (&d)[4], const uint32_t (&a)[4],
                                                   uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void MultiplyTile<__half>(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                            uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace assay
