#include <type_traits>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/element.cuh"
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

// Calls `body` with the TypeTag of the element type, so that `body` can be a template.
template <typename Body>
void WithType(ReduceType type, const Body& body) {
  switch (type) {
    case ReduceType::kFloat32:
      return body(TypeTag<float>());
    case ReduceType::kFloat16:
      return body(TypeTag<__half>());
    case ReduceType::kBfloat16:
      return body(TypeTag<__nv_bfloat16>());
    case ReduceType::kFloat64:
      return body(TypeTag<double>());
    case ReduceType::kInt8:
      return body(TypeTag<int8_t>());
    case ReduceType::kUint8:
      return body(TypeTag<uint8_t>());
    case ReduceType::kInt32:
      return body(TypeTag<int32_t>());
    case ReduceType::kUint32:
      return body(TypeTag<uint32_t>());
    case ReduceType::kInt64:
      return body(TypeTag<long long>());
    case ReduceType::kUint64:
      return body(TypeTag<unsigned long long>());
    case ReduceType::kFloat8E4m3:
      return body(TypeTag<__nv_fp8_e4m3>());
    case ReduceType::kFloat8E5m2:
      return body(TypeTag<__nv_fp8_e5m2>());
  }
}

}  // namespace

Status FillReduceInput(const ReducePattern& pattern, int rank, int64_t first, int64_t count,
                       void* data, cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const unsigned blocks, OneWaveBlocks(count, kThreads));
  WithType(pattern.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    FillKernel<T>
        <<<blocks, kThreads, 0, stream>>>(pattern, rank, first, count, static_cast<T*>(data));
  });
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

Result<Verdict> CheckReduction(const ReducePattern& pattern, int64_t first, int64_t count,
                               const void* data, cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const unsigned blocks, OneWaveBlocks(count, kThreads));
  ASSAY_ASSIGN_OR_RETURN(const MismatchCounter counter, MismatchCounter::Create(stream));
  int64_t element_bytes = 0;
  bool is_floating = false;
  WithType(pattern.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    element_bytes = sizeof(T);
    is_floating = !std::is_integral_v<T>;
    CheckKernel<T><<<blocks, kThreads, 0, stream>>>(pattern, first, count,
                                                    static_cast<const T*>(data), counter.device());
  });
  ASSAY_CUDA(cudaGetLastError());
  ASSAY_ASSIGN_OR_RETURN(Verdict verdict, counter.Read(data, count, element_bytes, stream));
  const bool is_mean = pattern.op == ReduceOp::kAvg && is_floating;
  if (is_mean && MeanRounds(pattern.world_size)) {
    verdict.reference = "mean in fp64, every element within " + std::to_string(kMeanRoundings) +
                        " roundings of its type";
  }
  return verdict;
}

}  // namespace assay
