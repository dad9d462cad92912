// Names the types of a GEMM as cuBLAS does, for its two interfaces, LtGemm and ExGemm.
#pragma once

#include <cublasLt.h>

#include <cstdint>

#include "kernels/cuda/gemm/gemm_shape.h"

namespace assay {

// cuBLAS's description of a GemmType.
struct CublasTypes {
  cudaDataType_t a;
  cudaDataType_t b;
  cudaDataType_t d;
  cublasComputeType_t compute;
  cudaDataType_t scale;  // The type of alpha and beta.
};

inline CublasTypes CublasTypesOf(GemmType type) {
  switch (type) {
    case GemmType::kFp64:
      return {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F};
    case GemmType::kBf16:
      return {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case GemmType::kFp16:
      return {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case GemmType::kFp8E4m3:
      return {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case GemmType::kFp8E5m2:
      return {CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F};
    case GemmType::kInt8:
      return {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I};
    case GemmType::kTf32:
      return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F};
    case GemmType::kFp32:
      break;
  }
  return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F};
}

// One and zero in the type of alpha and beta.
struct CublasScalars {
  double fp64[2] = {1, 0};
  float fp32[2] = {1, 0};
  int32_t int32[2] = {1, 0};

  const void* Get(cudaDataType_t type, int index) const {
    if (type == CUDA_R_64F) return &fp64[index];
    if (type == CUDA_R_32I) return &int32[index];
    return &fp32[index];
  }
};
inline constexpr CublasScalars kCublasScalars;

// cuBLAS's own default workspace on Hopper is 32 MiB. Twice that excludes no algorithm.
inline constexpr int64_t kCublasWorkspaceBytes = int64_t{64} << 20;

}  // namespace assay
