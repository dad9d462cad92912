// One GEMM shape on cublasGemmEx, with the algorithm that cuBLAS chooses by default.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "common/status.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemm/lt_gemm.h"

struct cublasContext;

namespace assay {

struct Cublas;

// A GEMM of one shape on one stream. Used by one thread, with the GPU that was current at Create.
class ExGemm {
 public:
  ExGemm(const ExGemm&) = delete;
  ExGemm& operator=(const ExGemm&) = delete;
  ~ExGemm();

  // Loads libcublas if necessary, allocates the workspace and creates a cuBLAS handle for `stream`,
  // which must outlive the object. Returns UNSUPPORTED if the library is not installed.
  // Restrictions:
  // - The type must not be fp8.
  // - For int8, A must not be transposed, B must be, and row lengths must be multiples of 4.
  static Result<std::unique_ptr<ExGemm>> Create(const GemmShape& shape, cudaStream_t stream);

  // Enqueues one multiplication on the stream. All calls but the first may be captured into a CUDA
  // graph. Returns UNSUPPORTED if cuBLAS has no kernel for the shape and type on this GPU.
  Status Enqueue(const GemmOperands& operands);

 private:
  ExGemm(const CublasLt& lt, const Cublas& cublas, const GemmShape& shape)
      : lt_(lt), cublas_(cublas), shape_(shape) {}

  const CublasLt& lt_;  // Names statuses.
  const Cublas& cublas_;
  const GemmShape shape_;
  cublasContext* handle_ = nullptr;
  DeviceBuffer workspace_;
};

}  // namespace assay
