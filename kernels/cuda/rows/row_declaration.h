// Declarations that the row benchmarks (softmax, layernorm, rmsnorm) share.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {

// The parameters rows, `columns`, dtype and `own`, then those of every GPU case.
std::vector<ParameterSpec> RowParameters(const Parameter& columns,
                                         const std::vector<ParameterSpec>& own = {});
// The parameter "columns" without constraints.
Parameter ColumnsParameter();

std::vector<Metric> RowMetrics();

// A matrix is read and one is written, and `weights` rows are read as well. `flops` is per element.
Work RowWork(const ParameterMap& parameters, int weights, double flops);

// Checks that the matrix has at most 2^40 elements.
Status ValidateRows(const ParameterMap& parameters);

// The declaration of a benchmark without variants.
Declaration RowDeclaration(const std::string& name, int weights, int flops);

}  // namespace assay
