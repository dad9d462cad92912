// matmul_wgmma: bf16 on Hopper's tensor cores with wgmma and the copy engine.
#include "kernels/cuda/matmul/matmul_shape.h"

namespace assay {

Declaration MatmulWgmmaDeclaration() {
  return MatmulDeclaration(
             "matmul_wgmma", GemmType::kBf16,
             "With the tile of 128 x 256: a cluster of two blocks reads 2 (256 + 256) k bytes for "
             "2 x 256 x 256 k FLOPs: 128 FLOPs per byte from the L2. A wgmma of 64 x 256 x 16 "
             "reads 10 KiB of shared memory in the 128 cycles that it takes: 80 of 128 bytes per "
             "cycle",
             8,
             {Parameter::Choice("tile", {"128x256", "128x128"})
                  .Describe(
                      "rows x columns of a tile; smaller ones occupy more SMs where D is small")})
      .Summary("bf16 matrix multiplication on Hopper's tensor cores with wgmma and TMA")
      .SelfTest({{"m", "261"}, {"n", "264"}, {"k", "328"}})
      .Example(MatmulExample(), MatmulExampleWork(GemmType::kBf16))
      .Refuses({{"k", "4100"}}, "k");
}

}  // namespace assay
