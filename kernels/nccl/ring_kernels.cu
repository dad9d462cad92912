#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/one_wave.h"
#include "kernels/cuda/frame/vector.cuh"
#include "kernels/nccl/ring_kernels.h"

namespace assay {
namespace {

constexpr int kThreads = 512;
// The number of vectors that a thread loads from each input at once, large enough to saturate
// memory bandwidth with few thread blocks.
constexpr int kUnroll = 4;

// Calls `body` with the TypeTag of the element type `dtype`, so that `body` can be a template.
template <typename Body>
void WithSumType(const std::string& dtype, const Body& body) {
  if (dtype == "fp64") return body(TypeTag<double>());
  WithElementType(dtype, body);
}

template <typename T>
__device__ T Sum(T a, T b) {
  return Narrow<T>(static_cast<float>(a) + static_cast<float>(b));
}
__device__ double Sum(double a, double b) { return a + b; }

// Computes out[i] = a[i] + b[i]. `out` may be the same array as `a` or `b`, so the pointers are
// not __restrict__. This is safe because each thread reads its elements before overwriting them.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    AddKernel(const T* a, const T* b, T* out, int64_t count) {
  const int64_t vectors = count / Vector<T>::kLength;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t mine = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (int64_t i = mine; i < vectors; i += kUnroll * step) {
    Vector<T> x[kUnroll];
    Vector<T> y[kUnroll];
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      const int64_t at = i + j * step;
      if (at >= vectors) continue;
      x[j] = reinterpret_cast<const Vector<T>*>(a)[at];
      y[j] = reinterpret_cast<const Vector<T>*>(b)[at];
    }
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      const int64_t at = i + j * step;
      if (at >= vectors) continue;
#pragma unroll
      for (int e = 0; e < Vector<T>::kLength; ++e) {
        x[j].element[e] = Sum(x[j].element[e], y[j].element[e]);
      }
      reinterpret_cast<Vector<T>*>(out)[at] = x[j];
    }
  }
  const int64_t tail = vectors * Vector<T>::kLength + mine;
  if (tail < count) out[tail] = Sum(a[tail], b[tail]);
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kOneWaveThreads / kThreads)
    FillKernel(uint64_t seed, uint64_t sequence, int64_t first, int64_t count, T* data) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    data[i] = RandomElement<T>(seed, sequence, first + i);
  }
}

// The result of CompareKernel, in device memory.
struct Differences {
  unsigned long long largest =
      0;  // Bits of a positive double, which have the order of the doubles.
  unsigned long long wrong = 0;
  unsigned long long first = ~0ULL;
};

template <typename T>
__global__ void __launch_bounds__(kThreads, kOneWaveThreads / kThreads)
    CompareKernel(const T* sums, const T* reference, int64_t count, double typical,
                  double tolerance, Differences* differences) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  double largest = 0;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const double expected = Widen(reference[i]);
    double difference = fabs(Widen(sums[i]) - expected) / fmax(fabs(expected), typical);
    // Replaces NaN by infinity. The difference is also NaN if the reference is infinite.
    if (!(difference < INFINITY)) difference = INFINITY;
    largest = fmax(largest, difference);
    if (difference <= tolerance) continue;
    atomicAdd(&differences->wrong, 1ULL);
    atomicMin(&differences->first, static_cast<unsigned long long>(i));
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    largest = fmax(largest, __shfl_down_sync(0xffffffff, largest, offset));
  }
  if (threadIdx.x % 32 == 0) {
    atomicMax(&differences->largest,
              static_cast<unsigned long long>(__double_as_longlong(largest)));
  }
}

}  // namespace

Status EnqueueAdd(const std::string& dtype, const void* a, const void* b, void* out, int64_t count,
                  int blocks, cudaStream_t stream) {
  WithSumType(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const int64_t threads = count / Vector<T>::kLength;
    const auto grid =
        static_cast<unsigned>(std::clamp<int64_t>((threads + kThreads - 1) / kThreads, 1, blocks));
    AddKernel<<<grid, kThreads, 0, stream>>>(static_cast<const T*>(a), static_cast<const T*>(b),
                                             static_cast<T*>(out), count);
  });
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

Status FillRandom(const std::string& dtype, uint64_t seed, uint64_t sequence, int64_t first,
                  int64_t count, void* data, cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const unsigned blocks, OneWaveBlocks(count, kThreads));
  WithSumType(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    FillKernel<<<blocks, kThreads, 0, stream>>>(seed, sequence, first, count,
                                                static_cast<T*>(data));
  });
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

double SumTolerance(const std::string& dtype) {
  constexpr double kRoundings = 16;
  if (dtype == "bf16") return kRoundings / (1 << 8);
  if (dtype == "fp16") return kRoundings / (1 << 11);
  if (dtype == "fp64") return kRoundings / static_cast<double>(int64_t{1} << 53);
  return kRoundings / (1 << 24);
}

Result<Verdict> CompareSums(const std::string& dtype, const void* sums, const void* reference,
                            int64_t count, int ranks, cudaStream_t stream) {
  const double tolerance = SumTolerance(dtype);
  ASSAY_ASSIGN_OR_RETURN(const unsigned blocks, OneWaveBlocks(count, kThreads));
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer buffer,
                         DeviceBuffer::Allocate(sizeof(Differences), "the comparison"));
  Differences found;
  ASSAY_CUDA(cudaMemcpyAsync(buffer.data(), &found, sizeof found, cudaMemcpyHostToDevice, stream));
  WithSumType(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    CompareKernel<<<blocks, kThreads, 0, stream>>>(
        static_cast<const T*>(sums), static_cast<const T*>(reference), count, std::sqrt(ranks),
        tolerance, buffer.as<Differences>());
  });
  ASSAY_CUDA(cudaGetLastError());
  ASSAY_CUDA(cudaMemcpyAsync(&found, buffer.data(), sizeof found, cudaMemcpyDeviceToHost, stream));
  ASSAY_CUDA(cudaStreamSynchronize(stream));
  Verdict verdict;
  verdict.reference = "NCCL's all_reduce of the same random input, every element";
  verdict.norm = "max_abs";
  std::memcpy(&verdict.error, &found.largest, sizeof verdict.error);
  verdict.tolerance = tolerance;
  verdict.elements_checked = count;
  verdict.passed = found.wrong == 0 && verdict.error <= tolerance;
  if (!verdict.passed) {
    verdict.detail = std::to_string(found.wrong) + " elements differ, the first is element " +
                     std::to_string(found.first);
  }
  return verdict;
}

}  // namespace assay
