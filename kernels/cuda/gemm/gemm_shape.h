// Shape and types of a GEMM, shared by the multiplication and its check.
#pragma once

#include <cstdint>

#include "kernels/cuda/execution/sustained_load.h"
#include "kernels/cuda/frame/rotation.h"

namespace assay {

// Types of A and B, and of D unless the comment says otherwise.
enum class GemmType {
  kFp32,
  kTf32,  // Stored as fp32.
  kBf16,
  kFp16,
  kFp64,
  kFp8E4m3,  // D in bf16.
  kFp8E5m2,  // The type of A; B is e4m3, D is bf16.
  kInt8,     // D in int32.
};

// The shape and element type of a batch of row-major products D = op(A) op(B), where op()
// optionally transposes a matrix. op(A) is m x k, op(B) is k x n and D is m x n. The A matrices of
// the batch are contiguous in memory, as are the B matrices and the D matrices.
struct GemmShape {
  GemmType type = GemmType::kBf16;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  // Stored transposed: A as k x m, B as n x k.
  bool a_transposed = false;
  bool b_transposed = false;
  int64_t batch = 1;
  // fp8 only: sums stay in the tensor cores, which keep fewer bits than fp32.
  bool fast_accumulation = false;

  bool IsFp8() const { return type == GemmType::kFp8E4m3 || type == GemmType::kFp8E5m2; }
  // Bytes per element of A or B.
  int64_t InputBytes() const {
    if (type == GemmType::kFp64) return 8;
    if (IsFp8() || type == GemmType::kInt8) return 1;
    return type == GemmType::kBf16 || type == GemmType::kFp16 ? 2 : 4;
  }
  // Bytes per element of D.
  int64_t OutputBytes() const {
    if (IsFp8()) return 2;
    return type == GemmType::kInt8 ? 4 : InputBytes();
  }
  // Bytes of A, B and D for all products of the batch.
  int64_t ABytes() const { return batch * m * k * InputBytes(); }
  int64_t BBytes() const { return batch * k * n * InputBytes(); }
  int64_t DBytes() const { return batch * m * n * OutputBytes(); }
  // Returns the shape with m, n and k rounded up so that every stored row of A, B and D is a
  // multiple of 16 bytes long. Dimensions that are not the length of a stored row do not change.
  GemmShape Padded() const {
    const auto up = [](int64_t length, int64_t bytes) { return AlignUp(length, 16 / bytes); };
    GemmShape padded = *this;
    padded.n = up(n, OutputBytes());
    if (!b_transposed) padded.n = up(padded.n, InputBytes());
    if (a_transposed) padded.m = up(m, InputBytes());
    if (!a_transposed || b_transposed) padded.k = up(k, InputBytes());
    return padded;
  }
  double Flops() const {
    return 2.0 * static_cast<double>(batch) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
  bool IsSustained() const { return IsSustainedLoad(Flops()); }
};

}  // namespace assay
