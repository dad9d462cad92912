#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <type_traits>

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

// The largest number up to which T holds every whole one, or the largest of int8.
template <typename T>
__device__ constexpr int LargestSum() {
  if (std::is_same<T, __nv_fp8_e4m3>::value) return 16;
  if (std::is_same<T, __nv_fp8_e5m2>::value) return 8;
  return 127;
}

// Of one rounding, relative.
template <typename T>
__device__ constexpr double UnitRoundoff() {
  if (std::is_same<T, float>::value) return 1.0 / (1 << 24);
  if (std::is_same<T, double>::value) return 1.0 / (int64_t{1} << 53);
  if (std::is_same<T, __half>::value) return 1.0 / (1 << 11);
  if (std::is_same<T, __nv_bfloat16>::value) return 1.0 / (1 << 8);
  if (std::is_same<T, __nv_fp8_e4m3>::value) return 1.0 / (1 << 4);
  if (std::is_same<T, __nv_fp8_e5m2>::value) return 1.0 / (1 << 3);
  return 0;
}

// Ranks that may have a one where there are too many for all to have it: no sum exceeds it.
constexpr int kFewRanks = 8;

__device__ int ProductValue(const ReducePattern& pattern, int rank, int64_t index) {
  const uint64_t bits = RandomBits(pattern.seed, 0, static_cast<uint64_t>(index));
  const auto world = static_cast<uint32_t>(pattern.world_size);
  const auto one = static_cast<int>(static_cast<uint32_t>(bits) % world);
  const auto other = static_cast<int>(static_cast<uint32_t>(bits >> 32) % world);
  return rank == one || rank == other ? 2 : 1;
}

// Which ranks have a one is drawn from twice as many, so that sums differ.
__device__ int SparseValue(const ReducePattern& pattern, int rank, int64_t index) {
  const auto draws = 2 * static_cast<uint32_t>(pattern.world_size);
  int value = 0;
  for (int slot = 0; slot < kFewRanks; ++slot) {
    const uint64_t bits =
        RandomBits(pattern.seed, static_cast<uint64_t>(slot), static_cast<uint64_t>(index));
    value += static_cast<int>(static_cast<uint32_t>(bits) % draws) == rank ? 1 : 0;
  }
  return value;
}

// `index` counts through all rotation sets.
template <typename T>
__device__ int InputValue(const ReducePattern& pattern, int rank, int64_t index) {
  if (pattern.op == ReduceOp::kProd) return ProductValue(pattern, rank, index);
  if (pattern.world_size > LargestSum<T>()) return SparseValue(pattern, rank, index);
  const uint64_t bits =
      RandomBits(pattern.seed, static_cast<uint64_t>(rank) + 1, static_cast<uint64_t>(index));
  const auto values = static_cast<uint32_t>(LargestSum<T>() / pattern.world_size + 1);
  return static_cast<int>(static_cast<uint32_t>(bits) % values);
}

// Of an average, the sum.
template <typename T>
__device__ int Expected(const ReducePattern& pattern, int64_t index) {
  int result = InputValue<T>(pattern, 0, index);
  for (int rank = 1; rank < pattern.world_size; ++rank) {
    const int value = InputValue<T>(pattern, rank, index);
    switch (pattern.op) {
      case ReduceOp::kSum:
      case ReduceOp::kAvg:
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

template <typename T>
__device__ double ToDouble(T element) {
  return static_cast<double>(static_cast<float>(element));
}
template <>
__device__ double ToDouble(double element) {
  return element;
}

// True if the element is the mean of numbers whose sum is `sum`; NaN never is.
template <typename T>
__device__ bool IsMean(T element, int sum, int ranks) {
  if constexpr (std::is_integral<T>::value) {
    return element == FromInt<T>(sum / ranks);
  } else {
    const double mean = static_cast<double>(sum) / ranks;
    const bool exact = (ranks & (ranks - 1)) == 0;
    const double allowed = exact ? 0 : (ranks + 2) * UnitRoundoff<T>() * mean;
    return fabs(ToDouble(element) - mean) <= allowed;
  }
}

// True if the element is exactly `value`; NaN never is.
template <typename T>
__device__ bool Is(T element, int value) {
  if constexpr (std::is_integral<T>::value) {
    return element == FromInt<T>(value);
  } else {
    return ToDouble(element) == value;
  }
}

template <typename T>
__global__ void FillKernel(ReducePattern pattern, int rank, int64_t first, int64_t count, T* data) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    data[i] = FromInt<T>(InputValue<T>(pattern, rank, first + i));
  }
}

template <typename T>
__global__ void CheckKernel(ReducePattern pattern, int64_t first, int64_t count, const T* data,
                            Mismatches* mismatches) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const int expected = Expected<T>(pattern, first + i);
    const bool right = pattern.op == ReduceOp::kAvg ? IsMean(data[i], expected, pattern.world_size)
                                                    : Is(data[i], expected);
    if (!right) Report(mismatches, i);
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
  ASSAY_ASSIGN_OR_RETURN(Verdict verdict, counter.Read(data, count, BytesOf(pattern.type), stream));
  const int ranks = pattern.world_size;
  const bool rounds = pattern.op == ReduceOp::kAvg && IsFloating(pattern.type);
  if (rounds && (ranks & (ranks - 1)) != 0) {
    verdict.reference = "mean in fp64, every element within " + std::to_string(ranks + 2) +
                        " roundings of its type";
  }
  return verdict;
}

}  // namespace assay
