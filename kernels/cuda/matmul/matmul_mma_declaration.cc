// matmul_mma: bf16 on the tensor cores with mma.sync.
#include "kernels/cuda/matmul/matmul_shape.h"

namespace assay {

Declaration MatmulMmaDeclaration() {
  return MatmulDeclaration(
             "matmul_mma", GemmType::kBf16,
             "A block reads 2 (128 + 256) k bytes for 2 x 128 x 256 k FLOPs: 85 FLOPs per byte "
             "from the L2. A warp's 64 x 64 elements take 2 (64 + 64) k bytes from shared memory: "
             "32 FLOPs per byte. On Hopper mma.sync reaches about 0.63 of the tensor cores' peak",
             8)
      .Summary("bf16 matrix multiplication on tensor cores with mma.sync")
      .SelfTest({{"m", "261"}, {"n", "264"}, {"k", "136"}})
      .Example(MatmulExample(), MatmulExampleWork(GemmType::kBf16))
      .Refuses({{"n", "4100"}}, "n");
}

}  // namespace assay
