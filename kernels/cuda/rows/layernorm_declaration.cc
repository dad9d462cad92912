// layernorm: y = (x - mean) / sqrt(variance + 1e-5) * gamma + beta of each row.
#include "kernels/cuda/rows/row_declaration.h"

namespace assay {

Declaration LayerNormDeclaration() {
  return RowDeclaration("layernorm", /*weights=*/2, /*flops=*/8)
      .Summary("layer normalisation of each row, with gamma and beta")
      // 3 rows of 5 bf16 elements are read and written, and 5 of gamma and of beta are read.
      .Example({{"rows", "3"}, {"columns", "5"}, {"dtype", "bf16"}},
               {.flops = 8 * 15,
                .peak = Peak::kFp32,
                .bytes = (2 * 15 + 2 * 5) * 2,
                .fixed_seconds = kStreamLaunchSeconds});
}

}  // namespace assay
