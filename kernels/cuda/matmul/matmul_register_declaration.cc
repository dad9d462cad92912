// matmul_register: fp32 on the ordinary units, with 8 x 8 elements of D per thread in registers.
#include "kernels/cuda/matmul/matmul_shape.h"

namespace assay {

Declaration MatmulRegisterDeclaration() {
  return MatmulDeclaration("matmul_register", GemmType::kFp32,
                           "A block reads 8 x 128 k bytes for 2 x 128^2 k FLOPs: 32 FLOPs per byte "
                           "from the L2. A thread's 64 multiply-adds take 4 vector loads from "
                           "shared memory: at most 64 of 68 issue slots, 0.94 of the fp32 peak")
      .Summary("fp32 matrix multiplication, 8 x 8 elements per thread in registers")
      .SelfTest({{"m", "257"}, {"n", "131"}, {"k", "67"}})
      .Example(MatmulExample(), MatmulExampleWork(GemmType::kFp32))
      .Refuses({{"n", "131073"}}, "n");
}

}  // namespace assay
