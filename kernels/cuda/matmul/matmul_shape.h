// Parameters, shape and work of the matmul benchmarks, which compute D = A B without transposition.
// A is m x k, B is k x n and D is m x n, all row-major. This file compiles without CUDA.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/declaration.h"

namespace assay {

// Returns the shape that a case multiplies. Where m or k is 0, n is used instead.
GemmShape MatmulShapeOf(const ParameterMap& parameters, GemmType type);

// Returns the declaration of a matmul benchmark, to which callers add a summary, a self-test and
// examples. `tiles` completes the description of the performance model by saying how often data is
// reread. n and k must be multiples of `multiple`, so that rows start at 16-byte boundaries. `more`
// lists the parameters specific to this benchmark.
Declaration MatmulDeclaration(const std::string& name, GemmType type, const std::string& tiles,
                              int64_t multiple = 1, std::vector<ParameterSpec> more = {});

// The case n = 64 and its work, computed by hand.
ParameterMap MatmulExample();
Work MatmulExampleWork(GemmType type);

}  // namespace assay
