// One GEMM shape on cuBLASLt, with the fastest algorithm of its heuristics.
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

// Device memory of one multiplication (all products of a batch), aligned to kGemmAlignment. Not
// owned.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
};
inline constexpr int64_t kGemmAlignment = 256;

// Used by one thread, with the GPU that was current at Create.
class LtGemm {
 public:
  LtGemm(const LtGemm&) = delete;
  LtGemm& operator=(const LtGemm&) = delete;
  ~LtGemm();

  // Allocates the workspace and asks the heuristics for algorithms. Returns UNSUPPORTED if there is
  // none for this shape and type on this GPU. fp8 and int8 need B stored transposed, A not
  // transposed, and multiples of 16 or 4 elements per row; the benchmarks' parameters ensure that.
  static Result<std::unique_ptr<LtGemm>> Create(const GemmShape& shape);

  // Starts one multiplication on `stream` with the chosen algorithm; before Tune() that is the
  // heuristics' first. May be captured into a graph.
  Status Enqueue(const GemmOperands& operands, cudaStream_t stream);

  // Times the algorithms on `stream` and chooses the fastest. Every algorithm runs for a moment.
  // Then the best few and the heuristics' first take turns, which are long if the GPU reaches its
  // power limit. `next` returns the operands of each run, so that the cache is as cold as in the
  // timed window. Takes 5 to 12 s for large shapes. If this process has tuned the same shape on the
  // same GPU under the same `conditions` (any text), that choice is reused. Returns whether
  // anything was timed.
  Result<bool> Tune(const std::function<GemmOperands()>& next, const std::string& conditions,
                    cudaStream_t stream);

 private:
  LtGemm(const CublasLt& lt, const GemmShape& shape) : lt_(lt), shape_(shape) {}
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
