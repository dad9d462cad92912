// matmul_naive: one thread per element of D, directly from global memory.
#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/matmul/matmul_shape.h"

namespace assay {

Declaration MatmulNaiveDeclaration() {
  return MatmulDeclaration(
             "matmul_naive", GemmType::kFp32,
             "No tiles: the 32 multiply-adds of a warp access the L1 cache twice, for one element "
             "of A and for 32 neighbours in B. It serves one request per cycle, in which an SM "
             "could do 128 multiply-adds: at most 1/8 of the fp32 peak")
      .Summary("fp32 matrix multiplication, one thread per element, from global memory")
      .SelfTest({{"m", "131"}, {"n", "67"}, {"k", "129"}})
      .Example(MatmulExample(), MatmulExampleWork(GemmType::kFp32))
      .Example({{"m", "3"}, {"n", "64"}, {"k", "8"}}, {.flops = 2 * 3 * 64 * 8,
                                                       .peak = Peak::kFp32,
                                                       .bytes = (3 * 8 + 8 * 64 + 3 * 64) * 4,
                                                       .fixed_seconds = kStreamLaunchSeconds})
      .Refuses({{"n", "0"}}, "n");
}

}  // namespace assay
