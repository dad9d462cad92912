// The `gemm` benchmark: dense matrix multiplication by cuBLASLt.
#pragma once

#include <memory>

#include "kernels/benchmark.h"

namespace assay {

std::unique_ptr<Benchmark> MakeGemm();

}  // namespace assay
