// One GEMM shape on cuBLASLt, with the fastest algorithm that its heuristics propose.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/event_timer.h"
#include "kernels/cuda/gemm/cublas_lt.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "measure/candidates.h"

namespace assay {

// Device pointers to the matrices of one multiplication. Each pointer covers all products of the
// batch and must be aligned to kGemmAlignment bytes. The memory is not owned.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
};
inline constexpr int64_t kGemmAlignment = 256;

// A GEMM of one shape. Used by one thread, with the GPU that was current at Create.
class LtGemm {
 public:
  LtGemm(const LtGemm&) = delete;
  LtGemm& operator=(const LtGemm&) = delete;
  ~LtGemm();

  // Allocates the workspace and asks cuBLASLt's heuristics for algorithms. Returns UNSUPPORTED if
  // they propose none for this shape and type on this GPU.
  // - For fp8 and int8, A must not be transposed, B must be transposed, and row lengths must be
  //   multiples of 16 (fp8) or 4 (int8).
  // - If `bias` is not null, it points to n elements of D's type in device memory, which are added
  //   to each row of D. They must outlive the object.
  static Result<std::unique_ptr<LtGemm>> Create(const GemmShape& shape, const void* bias = nullptr);

  // Enqueues one multiplication on `stream`, using the algorithm that Tune() chose or, before
  // Tune(), the heuristics' first choice. May be captured into a CUDA graph.
  Status Enqueue(const GemmOperands& operands, cudaStream_t stream);

  // Times the algorithms on `stream` and chooses the fastest. First times each one briefly, then
  // alternates between the best few and the heuristics' first choice to compare them. Takes 5 to
  // 12 s for large shapes. `next` must return the operands for each run, so that caches are as cold
  // as in the benchmark. Returns false without timing anything if this process has already tuned
  // the same shape on the same GPU with the same `conditions` (any text).
  Result<bool> Tune(const std::function<GemmOperands()>& next, const std::string& conditions,
                    cudaStream_t stream);

 private:
  LtGemm(const CublasLt& lt, const GemmShape& shape, const void* bias)
      : lt_(lt), shape_(shape), bias_(bias) {}
  Status Describe();
  // Describes a `rows` x `columns` matrix in column-major order, one per product of the batch.
  Status DescribeMatrix(cudaDataType_t type, int64_t rows, int64_t columns,
                        cublasLtMatrixLayout_t* layout);
  Status FindAlgorithms();
  // Returns the mean time in seconds of `iterations` runs of the chosen algorithm.
  Result<double> TimeChosen(int64_t iterations, const std::function<GemmOperands()>& next,
                            cudaStream_t stream);
  Result<std::vector<Candidate>> Sprint(const std::function<GemmOperands()>& next,
                                        cudaStream_t stream);
  Status Compete(const std::function<GemmOperands()>& next, cudaStream_t stream);

  const CublasLt& lt_;
  const GemmShape shape_;
  const void* const bias_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t matmul_ = nullptr;
  cublasLtMatrixLayout_t left_ = nullptr;
  cublasLtMatrixLayout_t right_ = nullptr;
  cublasLtMatrixLayout_t output_ = nullptr;
  DeviceBuffer workspace_;
  EventTimer timer_;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
  size_t chosen_ = 0;
};

}  // namespace assay
