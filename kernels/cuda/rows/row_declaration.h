// Declarations that the row benchmarks (softmax, layernorm, rmsnorm) share.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/frame/gpu_parameters.h"

namespace assay {

// Returns the parameters of a row benchmark: "rows", `columns`, "dtype", the benchmark's `own`
// parameters, and those common to all GPU benchmarks.
std::vector<ParameterSpec> RowParameters(const Parameter& columns,
                                         const std::vector<ParameterSpec>& own = {});
// Returns the parameter "columns" without constraints.
Parameter ColumnsParameter();

std::vector<Metric> RowMetrics();

// Returns the work of one iteration of a row benchmark, which reads one matrix and `weights` rows
// of weights, writes one matrix, and performs `flops` FLOPs per element.
Work RowWork(const ParameterMap& parameters, int weights, double flops);

// Checks that the matrix has at most 2^40 elements.
Status ValidateRows(const ParameterMap& parameters);

// Returns the declaration of a benchmark without variants.
Declaration RowDeclaration(const std::string& name, int weights, int flops);

}  // namespace assay
