// matmul_tiled: one thread per element of D, from square tiles in shared memory.
#include "kernels/cuda/matmul/matmul_shape.h"

namespace assay {

Declaration MatmulTiledDeclaration() {
  return MatmulDeclaration("matmul_tiled", GemmType::kFp32,
                           "A block reads 8 tile k bytes for 2 tile^2 k FLOPs: tile / 4 FLOPs per "
                           "byte from the caches. The 32 multiply-adds of a warp take one request "
                           "to shared memory for B, and a quarter of one for A (4 elements at "
                           "once); one request per cycle: at most 1/5 of the fp32 peak",
                           1,
                           {Parameter::Choice("tile", {"8", "16", "32"})
                                .Default("32")
                                .Describe("side of a tile; a block is tile x tile threads")})
      .Summary("fp32 matrix multiplication from square tiles in shared memory")
      .SelfTest({{"m", "131"}, {"n", "67"}, {"k", "129"}})
      .Example(MatmulExample(), MatmulExampleWork(GemmType::kFp32))
      .Refuses({{"tile", "64"}}, "tile");
}

}  // namespace assay
