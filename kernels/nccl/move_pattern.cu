#include <type_traits>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/frame/one_wave.h"
#include "kernels/cuda/frame/random.cuh"
#include "kernels/nccl/move_pattern.h"

namespace assay {
namespace {

constexpr unsigned kThreads = 256;

template <typename T>
__device__ T Value(uint64_t seed, int rank, int64_t index) {
  const auto bits = static_cast<T>(
      RandomBits(seed, static_cast<uint64_t>(rank) + 1, static_cast<uint64_t>(index)));
  return bits == static_cast<T>(~T{0}) ? T{0} : bits;
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kOneWaveThreads / kThreads)
    FillKernel(uint64_t seed, int rank, int64_t first, int64_t count, T* data) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    data[i] = Value<T>(seed, rank, first + i);
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kOneWaveThreads / kThreads)
    CheckKernel(uint64_t seed, int rank, int64_t first, int64_t count, const T* data,
                Mismatches* mismatches) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    if (data[i] != Value<T>(seed, rank, first + i)) Report(mismatches, i);
  }
}

// Calls `use` with a null pointer whose type is that of an unsigned integer as wide as an element.
template <typename Use>
Status Dispatch(int64_t element_bytes, const Use& use) {
  switch (element_bytes) {
    case 1:
      use(static_cast<uint8_t*>(nullptr));
      break;
    case 2:
      use(static_cast<uint16_t*>(nullptr));
      break;
    case 4:
      use(static_cast<uint32_t*>(nullptr));
      break;
    case 8:
      use(static_cast<unsigned long long*>(nullptr));
      break;
    default:
      return Internal("no element has " + std::to_string(element_bytes) + " bytes");
  }
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

}  // namespace

Status FillMoveInput(const MovePattern& pattern, int rank, int64_t first, int64_t count, void* data,
                     cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const unsigned blocks, OneWaveBlocks(count, kThreads));
  return Dispatch(pattern.element_bytes, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    FillKernel<T>
        <<<blocks, kThreads, 0, stream>>>(pattern.seed, rank, first, count, static_cast<T*>(data));
  });
}

Result<Verdict> CheckMoved(const MovePattern& pattern, int rank, int64_t first, int64_t count,
                           const void* data, cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const unsigned blocks, OneWaveBlocks(count, kThreads));
  ASSAY_ASSIGN_OR_RETURN(const MismatchCounter counter, MismatchCounter::Create(stream));
  ASSAY_RETURN_IF_ERROR(Dispatch(pattern.element_bytes, [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    CheckKernel<T><<<blocks, kThreads, 0, stream>>>(pattern.seed, rank, first, count,
                                                    static_cast<const T*>(data), counter.device());
  }));
  return counter.Read(data, count, pattern.element_bytes, stream);
}

}  // namespace assay
