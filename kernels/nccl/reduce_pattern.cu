#include <type_traits>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/frame/one_wave.h"
#include "kernels/nccl/reduce_pattern.h"
#include "kernels/nccl/reduce_values.cuh"

namespace assay {
namespace {

constexpr unsigned kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads, kOneWaveThreads / kThreads)
    FillKernel(ReducePattern pattern, int rank, int64_t first, int64_t count, T* data) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    data[i] = FromInt<T>(ReduceInput<T>(pattern, rank, first + i));
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kOneWaveThreads / kThreads)
    CheckKernel(ReducePattern pattern, int64_t first, int64_t count, const T* data,
                Mismatches* mismatches) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    if (!IsReduced(pattern, data[i], ReduceOutput<T>(pattern, first + i))) Report(mismatches, i);
  }
}

// Calls `use` with a null pointer to the element type.
template <typename Use>
Status Dispatch(ReduceType type, const Use& use) {
  switch (type) {
    case ReduceType::kFloat32:
      use(static_cast<float*>(nullptr));
      break;
    case ReduceType::kFloat16:
      use(static_cast<__half*>(nullptr));
      break;
    case ReduceType::kBfloat16:
      use(static_cast<__nv_bfloat16*>(nullptr));
      break;
    case ReduceType::kFloat64:
      use(static_cast<double*>(nullptr));
      break;
    case ReduceType::kInt8:
      use(static_cast<int8_t*>(nullptr));
      break;
    case ReduceType::kUint8:
      use(static_cast<uint8_t*>(nullptr));
      break;
    case ReduceType::kInt32:
      use(static_cast<int32_t*>(nullptr));
      break;
    case ReduceType::kUint32:
      use(static_cast<uint32_t*>(nullptr));
      break;
    case ReduceType::kInt64:
      use(static_cast<long long*>(nullptr));
      break;
    case ReduceType::kUint64:
      use(static_cast<unsigned long long*>(nullptr));
      break;
    case ReduceType::kFloat8E4m3:
      use(static_cast<__nv_fp8_e4m3*>(nullptr));
      break;
    case ReduceType::kFloat8E5m2:
      use(static_cast<__nv_fp8_e5m2*>(nullptr));
      break;
  }
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

}  // namespace

int64_t BytesOf(ReduceType type) {
  switch (type) {
    case ReduceType::kInt8:
    case ReduceType::kUint8:
    case ReduceType::kFloat8E4m3:
    case ReduceType::kFloat8E5m2:
      return 1;
    case ReduceType::kFloat16:
    case ReduceType::kBfloat16:
      return 2;
    case ReduceType::kFloat32:
    case ReduceType::kInt32:
    case ReduceType::kUint32:
      return 4;
    case ReduceType::kFloat64:
    case ReduceType::kInt64:
    case ReduceType::kUint64:
      return 8;
  }
  return 1;
}

bool IsFloating(ReduceType type) {
  switch (type) {
    case ReduceType::kFloat32:
    case ReduceType::kFloat16:
    case ReduceType::kBfloat16:
    case ReduceType::kFloat64:
    case ReduceType::kFloat8E4m3:
    case ReduceType::kFloat8E5m2:
      return true;
    default:
      return false;
  }
}

Status FillReduceInput(const ReducePattern& pattern, int rank, int64_t first, int64_t count,
                       void* data, cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const unsigned blocks, OneWaveBlocks(count, kThreads));
  return Dispatch(pattern.type, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    FillKernel<T>
        <<<blocks, kThreads, 0, stream>>>(pattern, rank, first, count, static_cast<T*>(data));
  });
}

Result<Verdict> CheckReduction(const ReducePattern& pattern, int64_t first, int64_t count,
                               const void* data, cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const unsigned blocks, OneWaveBlocks(count, kThreads));
  ASSAY_ASSIGN_OR_RETURN(const MismatchCounter counter, MismatchCounter::Create(stream));
  ASSAY_RETURN_IF_ERROR(Dispatch(pattern.type, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    CheckKernel<T><<<blocks, kThreads, 0, stream>>>(pattern, first, count,
                                                    static_cast<const T*>(data), counter.device());
  }));
  ASSAY_ASSIGN_OR_RETURN(Verdict verdict, counter.Read(data, count, BytesOf(pattern.type), stream));
  const bool is_mean = pattern.op == ReduceOp::kAvg && IsFloating(pattern.type);
  if (is_mean && MeanRounds(pattern.world_size)) {
    verdict.reference = "mean in fp64, every element within " + std::to_string(kMeanRoundings) +
                        " roundings of its type";
  }
  return verdict;
}

}  // namespace assay
