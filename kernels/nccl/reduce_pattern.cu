#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/mismatches.h"
#include "kernels/cuda/random.cuh"
#include "kernels/nccl/reduce_pattern.h"

namespace assay {
namespace {

constexpr unsigned kThreads = 256;

// Enough to fill any GPU, each thread taking many elements; fewer for the many small
// buffers of a cold rotation, whose launches add up.
unsigned BlocksFor(int64_t count) {
  return static_cast<unsigned>(std::clamp<int64_t>((count + kThreads - 1) / kThreads, 1, 4096));
}

constexpr int kLargestSum = 127;  // Of int8.

// `index` counts through all rotation sets.
__device__ int InputValue(const ReducePattern& pattern, int rank, int64_t index) {
  if (pattern.op == ReduceOp::kProd) {
    const uint64_t bits = RandomBits(pattern.seed, 0, static_cast<uint64_t>(index));
    const auto world = static_cast<uint32_t>(pattern.world_size);
    const auto one = static_cast<int>(static_cast<uint32_t>(bits) % world);
    const auto other = static_cast<int>(static_cast<uint32_t>(bits >> 32) % world);
    return rank == one || rank == other ? 2 : 1;
  }
  const uint64_t bits =
      RandomBits(pattern.seed, static_cast<uint64_t>(rank) + 1, static_cast<uint64_t>(index));
  const auto values = static_cast<uint32_t>(max(1, kLargestSum / pattern.world_size) + 1);
  return static_cast<int>(static_cast<uint32_t>(bits) % values);
}

__device__ int Expected(const ReducePattern& pattern, int64_t index) {
  int result = InputValue(pattern, 0, index);
  for (int rank = 1; rank < pattern.world_size; ++rank) {
    const int value = InputValue(pattern, rank, index);
    switch (pattern.op) {
      case ReduceOp::kSum:
        result += value;
        break;
      case ReduceOp::kProd:
        result *= value;
        break;
      case ReduceOp::kMin:
        result = min(result, value);
        break;
      case ReduceOp::kMax:
        result = max(result, value);
        break;
    }
  }
  return result;
}

// The half types convert from float alone.
template <typename T>
__device__ T FromInt(int value) {
  return static_cast<T>(static_cast<float>(value));
}
template <>
__device__ double FromInt(int value) {
  return value;
}

// True if the element is exactly `value`; NaN never is.
template <typename T>
__device__ bool Is(T element, int value) {
  return element == FromInt<T>(value);
}

template <typename T>
__global__ void FillKernel(ReducePattern pattern, int rank, int64_t first, int64_t count, T* data) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    data[i] = FromInt<T>(InputValue(pattern, rank, first + i));
  }
}

template <typename T>
__global__ void CheckKernel(ReducePattern pattern, int64_t first, int64_t count, const T* data,
                            Mismatches* mismatches) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    if (!Is(data[i], Expected(pattern, first + i))) Report(mismatches, i);
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
    case ReduceType::kInt64:
      use(static_cast<long long*>(nullptr));
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
      return 1;
    case ReduceType::kFloat16:
    case ReduceType::kBfloat16:
      return 2;
    case ReduceType::kFloat32:
    case ReduceType::kInt32:
      return 4;
    case ReduceType::kFloat64:
    case ReduceType::kInt64:
      return 8;
  }
  return 1;
}

Status FillReduceInput(const ReducePattern& pattern, int rank, int64_t first, int64_t count,
                       void* data, cudaStream_t stream) {
  return Dispatch(pattern.type, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    FillKernel<T><<<BlocksFor(count), kThreads, 0, stream>>>(pattern, rank, first, count,
                                                             static_cast<T*>(data));
  });
}

Result<Verdict> CheckReduction(const ReducePattern& pattern, int64_t first, int64_t count,
                               const void* data, cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const MismatchCounter counter, MismatchCounter::Create(stream));
  ASSAY_RETURN_IF_ERROR(Dispatch(pattern.type, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    CheckKernel<T><<<BlocksFor(count), kThreads, 0, stream>>>(
        pattern, first, count, static_cast<const T*>(data), counter.device());
  }));
  return counter.Read(data, count, BytesOf(pattern.type), stream);
}

}  // namespace assay
