// cuBLASLt, loaded on first use.
#pragma once

#include <cublasLt.h>

#include <string>

#include "common/status.h"

namespace assay {

// The functions that Assay calls, with the types of the library's own header.
struct CublasLt {
  decltype(&cublasLtGetVersion) get_version = nullptr;
  decltype(&cublasLtGetStatusName) get_status_name = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) algo_get_heuristic = nullptr;
  decltype(&cublasLtMatmulDescCreate) matmul_desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) matmul_desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) matmul_desc_set_attribute = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) matrix_layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) matrix_layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) matrix_layout_set_attribute = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set_attribute = nullptr;
};

// Returns the library, which the first call loads and nothing unloads. Thread-safe. NOT_FOUND
// (LIBRARY_MISSING) if the node has no cuBLASLt.
Result<const CublasLt*> LoadCublasLt();

// Returns an empty text if this process sees a GPU and the library, else the reason for
// Benchmark::UnsupportedReason.
std::string WhyNoCublasLt();

// Returns the version, such as "13.1.0"; loads the library.
Result<std::string> CublasLtVersion();

// Converts a status of cuBLAS. CUBLAS_STATUS_SUCCESS is OK and NOT_SUPPORTED is the outcome
// UNSUPPORTED. All others are INTERNAL (CUBLAS_ERROR) with the status's name, the expression, file
// and line.
Status CublasStatus(const CublasLt& lt, cublasStatus_t status, const char* expression,
                    const char* file, int line);

// ASSAY_CUBLAS(lt, matmul(...)) calls lt.matmul(...) and returns on an error.
#define ASSAY_CUBLAS(lt, call) \
  ASSAY_RETURN_IF_ERROR(::assay::CublasStatus((lt), (lt).call, #call, __FILE__, __LINE__))

}  // namespace assay
