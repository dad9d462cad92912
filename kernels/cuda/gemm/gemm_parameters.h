// Parameters and work of the benchmarks that multiply with cuBLASLt. Compiles without CUDA.
#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/gemm/gemm_shape.h"

namespace assay {

struct GemmDtype {
  const char* name;
  GemmType type;
  Peak peak;
  int major;  // Minimum compute capability.
  int minor;
};
const GemmDtype& GemmDtypeOf(GemmType type);
// Returns the entry of a name that the parameters have checked.
const GemmDtype& GemmDtypeOf(const std::string& name);

// Returns the parameter "dtype": every type that cuBLASLt multiplies; the default is bf16.
Parameter GemmDtypeParameter();

// Return the names of the fp8 types, and of all types that multiply 8-bit numbers.
std::vector<std::string> Fp8Names();
std::vector<std::string> ByteNames();
// Returns the names of the types that cublasGemmEx multiplies: all but fp8.
std::vector<std::string> ExNames();

// Returns the declaration of an integer parameter (at least 1) for a matrix dimension. Set
// `in_rows` for n and k, which are the lengths of stored rows and must be multiples of 16 for the
// fp8 types and of 4 for int8.
Parameter GemmExtent(const std::string& name, bool in_rows);

// Returns the work of one multiplication. The parameter "launch" selects its fixed time.
Work GemmWork(const GemmShape& shape, const ParameterMap& parameters);

// Returns the shape of a case of gemm and of sustained.
GemmShape GemmShapeOf(const ParameterMap& parameters);
GemmShape SustainedShapeOf(const ParameterMap& parameters);
// Returns the shape of the product in the overlap benchmark: D = A B', where B is stored as n x k,
// like the weights of a neural network layer.
GemmShape OverlapShapeOf(const ParameterMap& parameters);

}  // namespace assay
