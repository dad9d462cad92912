// Parameters, shape and work that the matmul benchmarks share. Compiles without CUDA.
//
// D = A B, row-major, without transposition: A is m x k, B is k x n, D is m x n.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/declaration.h"

namespace assay {

// Returns the shape of a case; m and k are n where they are 0.
GemmShape MatmulShapeOf(const ParameterMap& parameters, GemmType type);

// Returns a declaration without summary, self-test and examples. `more` follows the common
// parameters. n and k must be multiples of `multiple`, so that rows are whole units of 16 bytes.
// `tiles` describes the bytes that the tiles read repeatedly, for the model.
Declaration MatmulDeclaration(const std::string& name, GemmType type, const std::string& tiles,
                              int64_t multiple = 1, std::vector<ParameterSpec> more = {});

// The case n = 64 and its work, computed by hand.
ParameterMap MatmulExample();
Work MatmulExampleWork(GemmType type);

}  // namespace assay
