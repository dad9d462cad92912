// Wrappers for wgmma, the matrix multiplication of a Hopper warpgroup (128 threads). They multiply
// 64 rows of A by B and accumulate the products in fp32 registers. A is in shared memory or
// registers, and B is in shared memory. Use only in code under __CUDA_ARCH_FEAT_SM90_ALL.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

namespace assay::hopper {

// Layout of B in shared memory: contiguous along k (one column), or along the columns (one k).
inline constexpr int kAlongK = 0;
inline constexpr int kAlongColumns = 1;

// The operand numbers of the sums, which come first in the instruction.
#define ASSAY_NUMBERS_4 "%0, %1, %2, %3"
#define ASSAY_NUMBERS_8 ASSAY_NUMBERS_4 ", %4, %5, %6, %7"
#define ASSAY_NUMBERS_16 ASSAY_NUMBERS_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define ASSAY_NUMBERS_32                                                                  \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, " \
  "%19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define ASSAY_NUMBERS_64                                                                    \
  ASSAY_NUMBERS_32                                                                          \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, " \
  "%49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define ASSAY_NUMBERS_128                                                                   \
  ASSAY_NUMBERS_64                                                                          \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, " \
  "%81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, "   \
  "%98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "      \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, "    \
  "%126, %127"

#define ASSAY_SUMS_4(i) "+f"(d[(i)]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define ASSAY_SUMS_8(i) ASSAY_SUMS_4(i), ASSAY_SUMS_4((i) + 4)
#define ASSAY_SUMS_16(i) ASSAY_SUMS_8(i), ASSAY_SUMS_8((i) + 8)
#define ASSAY_SUMS_32(i) ASSAY_SUMS_16(i), ASSAY_SUMS_16((i) + 16)
#define ASSAY_SUMS_64(i) ASSAY_SUMS_32(i), ASSAY_SUMS_32((i) + 32)
#define ASSAY_SUMS_128(i) ASSAY_SUMS_64(i), ASSAY_SUMS_64((i) + 64)

// Emits one wgmma instruction for 64 rows and `columns` columns. The other arguments are:
// - `count`: the number of sums that each thread holds, which is columns / 2.
// - `add`: the number of the operand that decides whether to add to the previous sums.
// - `factors`: the assembly text for A, B and their layouts.
// - the remaining arguments: the operands that `add` and `factors` refer to.
#define ASSAY_WGMMA_OF(type, columns, count, add, factors, ...)                     \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" add                             \
               ", 0;\n"                                                             \
               "wgmma.mma_async.sync.aligned.m64n" columns "k16.f32." type "." type \
               " {" ASSAY_NUMBERS_##count "}, " factors ";\n}\n"                    \
               : ASSAY_SUMS_##count(0)                                              \
               : __VA_ARGS__)
#define ASSAY_WGMMA(...)                     \
  if constexpr (std::is_same_v<T, __half>) { \
    ASSAY_WGMMA_OF("f16", __VA_ARGS__);      \
  } else {                                   \
    ASSAY_WGMMA_OF("bf16", __VA_ARGS__);     \
  }

// Computes d = a b, or d += a b if `add` is not 0. The operands are SwizzledOperand descriptors of
// fp16 or bf16 (T) matrices in shared memory. a has 64 rows and 16 columns (k), and is contiguous
// along k. b has twice as many columns as d has elements per thread, and the layout kLayoutOfB.
// Asynchronous: call MatrixFence before and MatrixCommit afterwards.
template <typename T, int kLayoutOfB>
__device__ inline void MultiplyShared(float (&d)[4], uint64_t a, uint64_t b, int add) {
  ASSAY_WGMMA("8", 4, "6", "%4, %5, p, 1, 1, 0, %7", "l"(a), "l"(b), "r"(add), "n"(kLayoutOfB))
}
template <typename T, int kLayoutOfB>
__device__ inline void MultiplyShared(float (&d)[8], uint64_t a, uint64_t b, int add) {
  ASSAY_WGMMA("16", 8, "10", "%8, %9, p, 1, 1, 0, %11", "l"(a), "l"(b), "r"(add), "n"(kLayoutOfB))
}
template <typename T, int kLayoutOfB>
__device__ inline void MultiplyShared(float (&d)[16], uint64_t a, uint64_t b, int add) {
  ASSAY_WGMMA("32", 16, "18", "%16, %17, p, 1, 1, 0, %19", "l"(a), "l"(b), "r"(add),
              "n"(kLayoutOfB))
}
template <typename T, int kLayoutOfB>
__device__ inline void MultiplyShared(float (&d)[32], uint64_t a, uint64_t b, int add) {
  ASSAY_WGMMA("64", 32, "34", "%32, %33, p, 1, 1, 0, %35", "l"(a), "l"(b), "r"(add),
              "n"(kLayoutOfB))
}
template <typename T, int kLayoutOfB>
__device__ inline void MultiplyShared(float (&d)[64], uint64_t a, uint64_t b, int add) {
  ASSAY_WGMMA("128", 64, "66", "%64, %65, p, 1, 1, 0, %67", "l"(a), "l"(b), "r"(add),
              "n"(kLayoutOfB))
}
template <typename T, int kLayoutOfB>
__device__ inline void MultiplyShared(float (&d)[128], uint64_t a, uint64_t b, int add) {
  ASSAY_WGMMA("256", 128, "130", "%128, %129, p, 1, 1, 0, %131", "l"(a), "l"(b), "r"(add),
              "n"(kLayoutOfB))
}

// Does the same with a in four registers and b stored along its columns.
template <typename T>
__device__ inline void MultiplyRegister(float (&d)[32], const uint32_t* a, uint64_t b, int add) {
  ASSAY_WGMMA("64", 32, "37", "{%32, %33, %34, %35}, %36, p, 1, 1, 1", "r"(a[0]), "r"(a[1]),
              "r"(a[2]), "r"(a[3]), "l"(b), "r"(add))
}
template <typename T>
__device__ inline void MultiplyRegister(float (&d)[64], const uint32_t* a, uint64_t b, int add) {
  ASSAY_WGMMA("128", 64, "69", "{%64, %65, %66, %67}, %68, p, 1, 1, 1", "r"(a[0]), "r"(a[1]),
              "r"(a[2]), "r"(a[3]), "l"(b), "r"(add))
}

#undef ASSAY_WGMMA
#undef ASSAY_WGMMA_OF
#undef ASSAY_SUMS_128
#undef ASSAY_SUMS_64
#undef ASSAY_SUMS_32
#undef ASSAY_SUMS_16
#undef ASSAY_SUMS_8
#undef ASSAY_SUMS_4
#undef ASSAY_NUMBERS_128
#undef ASSAY_NUMBERS_64
#undef ASSAY_NUMBERS_32
#undef ASSAY_NUMBERS_16
#undef ASSAY_NUMBERS_8
#undef ASSAY_NUMBERS_4

}  // namespace assay::hopper
