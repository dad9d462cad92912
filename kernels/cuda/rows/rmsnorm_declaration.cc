// rmsnorm: y = x / sqrt(mean(x^2) + 1e-5) * gamma of each row.
#include "kernels/cuda/rows/row_declaration.h"

namespace assay {

Declaration RmsNormDeclaration() {
  return RowDeclaration("rmsnorm", /*weights=*/1, /*flops=*/4)
      .Summary("root-mean-square normalisation of each row, with gamma")
      // 3 rows of 5 fp32 elements are read and written, and 5 of gamma are read.
      .Example({{"rows", "3"}, {"columns", "5"}}, {.flops = 4 * 15,
                                                   .peak = Peak::kFp32,
                                                   .bytes = (2 * 15 + 5) * 4,
                                                   .fixed_seconds = kStreamLaunchSeconds});
}

}  // namespace assay
