// What a GEMM multiplies: shared by the multiplication and its check.
#pragma once

#include <cstdint>

namespace assay {

enum class GemmType { kFp32, kTf32, kBf16, kFp16 };

// D = op(A) op(B), row-major: op(A) is m x k, op(B) is k x n, D is m x n.
struct GemmShape {
  GemmType type = GemmType::kBf16;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  // Stored transposed: A as k x m, B as n x k.
  bool a_transposed = false;
  bool b_transposed = false;

  int64_t ElementBytes() const {
    return type == GemmType::kBf16 || type == GemmType::kFp16 ? 2 : 4;
  }
  int64_t ABytes() const { return m * k * ElementBytes(); }
  int64_t BBytes() const { return k * n * ElementBytes(); }
  int64_t DBytes() const { return m * n * ElementBytes(); }
  double Flops() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  // Large enough to keep a GPU busy, and so to bring it to its power limit.
  bool IsSustained() const { return Flops() >= 2e10; }
};

}  // namespace assay
