// cuBLASLt, loaded on first use.
#pragma once

#include <cublasLt.h>

#include <string>

#include "common/status.h"
#include "kernels/cuda/frame/toolkit_library.h"

namespace assay {

// The functions that Assay calls.
#define ASSAY_CUBLAS_LT_FUNCTIONS(X)                               \
  X(get_version, cublasLtGetVersion)                               \
  X(get_status_name, cublasLtGetStatusName)                        \
  X(create, cublasLtCreate)                                        \
  X(destroy, cublasLtDestroy)                                      \
  X(matmul, cublasLtMatmul)                                        \
  X(algo_get_heuristic, cublasLtMatmulAlgoGetHeuristic)            \
  X(matmul_desc_create, cublasLtMatmulDescCreate)                  \
  X(matmul_desc_destroy, cublasLtMatmulDescDestroy)                \
  X(matmul_desc_set_attribute, cublasLtMatmulDescSetAttribute)     \
  X(matrix_layout_create, cublasLtMatrixLayoutCreate)              \
  X(matrix_layout_destroy, cublasLtMatrixLayoutDestroy)            \
  X(matrix_layout_set_attribute, cublasLtMatrixLayoutSetAttribute) \
  X(preference_create, cublasLtMatmulPreferenceCreate)             \
  X(preference_destroy, cublasLtMatmulPreferenceDestroy)           \
  X(preference_set_attribute, cublasLtMatmulPreferenceSetAttribute)
struct CublasLt {
  ASSAY_CUBLAS_LT_FUNCTIONS(ASSAY_FUNCTION_MEMBER)
};

// Returns the functions of cuBLASLt. Loads the library on the first call and never unloads it.
// Thread-safe. Returns NOT_FOUND (LIBRARY_MISSING) if the library is not installed.
Result<const CublasLt*> LoadCublasLt();

// Returns why cuBLASLt benchmarks cannot run on this machine (no GPU or no cuBLASLt library), or an
// empty string if they can.
std::string WhyNoCublasLt();

// Returns the version, such as "13.1.0"; loads the library.
Result<std::string> CublasLtVersion();

// Converts a cuBLAS status to a Status: CUBLAS_STATUS_SUCCESS to OK, CUBLAS_STATUS_NOT_SUPPORTED to
// Unsupported(), and any other to INTERNAL (CUBLAS_ERROR). The message contains the status's name,
// the expression, the file and the line.
Status CublasStatus(const CublasLt& lt, cublasStatus_t status, const char* expression,
                    const char* file, int line);

// ASSAY_CUBLAS(lt, matmul(...)) calls lt.matmul(...) and returns on an error.
#define ASSAY_CUBLAS(lt, call) \
  ASSAY_RETURN_IF_ERROR(::assay::CublasStatus((lt), (lt).call, #call, __FILE__, __LINE__))

}  // namespace assay
