#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/error_sums.cuh"
#include "kernels/cuda/gemm/gemm_data.h"
#include "kernels/cuda/gemm/int4_gemm_data.h"
#include "kernels/cuda/gemm/int4_gemm_weights.cuh"

namespace assay {
namespace {

constexpr uint64_t kStreamX = 1;
constexpr uint64_t kStreamValues = 2;
constexpr uint64_t kStreamScales = 3;
constexpr uint64_t kStreamZeros = 4;
constexpr int kThreads = 256;
// Maximum error of an element in multiples of the tolerance, as for other matrix products.
constexpr double kElementFactor = 8;
// Root mean square of scale * (q - zero) below.
constexpr double kTypicalWeight = 0.61;

// The random numbers behind a set's inputs, identical on host and device.
template <typename T>
struct Int4Values {
  int64_t m;
  int64_t n;
  int64_t k;
  int64_t group;
  uint64_t seed;
  int64_t set;

  __host__ __device__ T X(int64_t row, int64_t at) const {
    return RandomElement<T>(seed, kStreamX, (set * m + row) * k + at);
  }
  // Returns the integer of a weight, 0 to 15.
  __host__ __device__ unsigned Q(int64_t at, int64_t column) const {
    return Bits(kStreamValues, column * k + at, n * k) >> 60;
  }
  __host__ __device__ unsigned Zero(int64_t at_group, int64_t column) const {
    return Bits(kStreamZeros, column * (k / group) + at_group, n * (k / group)) >> 60;
  }
  // Returns a scale from 1/16 to 1/8, exact in bf16.
  __host__ __device__ float Scale(int64_t at_group, int64_t column) const {
    const uint64_t bits = Bits(kStreamScales, column * (k / group) + at_group, n * (k / group));
    return static_cast<float>(128 + (bits >> 57)) / 2048.0F;
  }
  __host__ __device__ double Weight(int64_t at, int64_t column) const {
    const int64_t at_group = at / group;
    const int difference =
        static_cast<int>(Q(at, column)) - static_cast<int>(Zero(at_group, column));
    return static_cast<double>(Scale(at_group, column)) * difference;
  }

 private:
  __host__ __device__ uint64_t Bits(uint64_t stream, int64_t index, int64_t per_set) const {
    return RandomBits(seed, stream, static_cast<uint64_t>(set * per_set + index));
  }
};

template <typename T>
Int4Values<T> ValuesOf(const Int4Problem& problem, int64_t set) {
  return {problem.m, problem.n, problem.k, problem.group, problem.seed, set};
}

template <typename T>
__global__ void FillXKernel(Int4Values<T> values, T* x) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < values.m * values.k;
       i += step) {
    x[i] = values.X(i / values.k, i % values.k);
  }
}

template <typename T>
__global__ void PackValuesKernel(Int4Values<T> values, Int4Layout layout, uint32_t* words) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t count = layout.ValueBytes() / 4;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    uint32_t word = 0;
    for (int nibble = 0; nibble < 8; ++nibble) {
      const Int4Place place = layout.PlaceOf(i, nibble);
      if (layout.Holds(place)) word |= values.Q(place.k, place.column) << (4 * nibble);
    }
    words[i] = word;
  }
}

template <typename T>
__global__ void PackScalesKernel(Int4Values<T> values, Int4Layout layout, Int4Scale<T>* scales) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t count = layout.ScaleBytes() / 4;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const Int4Place place = layout.ScalePlaceOf(i);
    const int64_t group = place.k / layout.group;
    const bool inside = layout.Holds(place);
    scales[i].scale = Narrow<T>(inside ? values.Scale(group, place.column) : 0.0F);
    scales[i].zero =
        Narrow<T>(inside ? static_cast<float>(values.Zero(group, place.column)) : 0.0F);
  }
}

// Each thread unpacks the 16 bytes of a lane: 8 neighbors in each half chunk of two columns.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    DequantiseKernel(Int4Layout layout, const uint4* values, const Int4Scale<T>* scales,
                     T* weights) {
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= layout.ValueBytes() / 16) return;
  const uint4 vector = values[at];
  const uint32_t words[kGemvSteps] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int part = 0; part < 4; ++part) {
    const Int4Place place = layout.PlaceOf(at * 4 + part / 2 * 2, part % 2);
    if (!layout.Holds(place)) continue;
    const Int4Scale<T> stored = scales[layout.ScaleIndexOf(place)];
    const auto scale = static_cast<float>(stored.scale);
    const auto zero = static_cast<float>(stored.zero);
    uint4 out;
    T elements[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      // For even halves of j, neighbors 2 j and 2 j + 1 are the nibbles j and j + 4 of a word.
      const uint32_t word = words[part / 2 * 2 + i / 4];
      const int nibble = i % 4 / 2 * 2 + part % 2 + i % 2 * 4;
      elements[i] = Narrow<T>((static_cast<float>(word >> (4 * nibble) & 15) - zero) * scale);
    }
    memcpy(&out, elements, sizeof out);
    *reinterpret_cast<uint4*>(weights + place.column * layout.k + place.k) = out;
  }
}

constexpr int kCheckTile = 64;
constexpr int kCheckDepth = 16;
constexpr int kCheckSide = 16;
constexpr int kPer = kCheckTile / kCheckSide;

// Computes one tile of the reference product in fp64 and compares it with y. The loop duplicates
// that of CompareKernel (gemm_data.cu), because sharing a function would change the compiled code.
template <typename T>
__global__ void __launch_bounds__(kCheckSide* kCheckSide)
    CheckKernel(Int4Values<T> values, const T* y, ErrorLimits limits, ErrorSums* sums) {
  __shared__ double x[kCheckDepth][kCheckTile + 1];
  __shared__ double w[kCheckDepth][kCheckTile + 1];
  const int64_t row0 = int64_t{blockIdx.y} * kCheckTile;
  const int64_t column0 = int64_t{blockIdx.x} * kCheckTile;
  const int thread = threadIdx.y * kCheckSide + threadIdx.x;
  double sum[kPer][kPer] = {};
  for (int64_t k0 = 0; k0 < values.k; k0 += kCheckDepth) {
    for (int slot = thread; slot < kCheckTile * kCheckDepth; slot += kCheckSide * kCheckSide) {
      const int depth = slot % kCheckDepth;
      const int at = slot / kCheckDepth;
      const bool row_inside = row0 + at < values.m;
      const bool column_inside = column0 + at < values.n;
      x[depth][at] = row_inside ? Widen(values.X(row0 + at, k0 + depth)) : 0;
      w[depth][at] = column_inside ? values.Weight(k0 + depth, column0 + at) : 0;
    }
    __syncthreads();
    for (int depth = 0; depth < kCheckDepth; ++depth) {
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
#pragma unroll
        for (int j = 0; j < kPer; ++j) {
          sum[i][j] +=
              x[depth][threadIdx.y + i * kCheckSide] * w[depth][threadIdx.x + j * kCheckSide];
        }
      }
    }
    __syncthreads();
  }
  ErrorThread errors(limits, sums);
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
#pragma unroll
    for (int j = 0; j < kPer; ++j) {
      const int64_t row = row0 + threadIdx.y + i * kCheckSide;
      const int64_t column = column0 + threadIdx.x + j * kCheckSide;
      if (row >= values.m || column >= values.n) continue;
      errors.Add(row * values.n + column, Widen(y[row * values.n + column]), sum[i][j]);
    }
  }
  errors.Flush();
}

// Recomputes a few dozen elements of y on the host, including the first and the last. Marks
// `verdict` as failed if any of them is off by more than the limits allow.
template <typename T>
Status CheckOnHost(const Int4Values<T>& values, const T* y, const ErrorLimits& limits,
                   cudaStream_t stream, Verdict* verdict) {
  constexpr int64_t kSamples = 48;
  const int64_t count = values.m * values.n;
  for (int64_t sample = 0; sample < kSamples; ++sample) {
    const auto index = static_cast<int64_t>(static_cast<double>(count - 1) *
                                            static_cast<double>(sample) / (kSamples - 1));
    T actual;
    ASSAY_CUDA(cudaMemcpyAsync(&actual, y + index, sizeof actual, cudaMemcpyDefault, stream));
    ASSAY_CUDA(cudaStreamSynchronize(stream));
    const int64_t row = index / values.n;
    const int64_t column = index % values.n;
    double reference = 0;
    for (int64_t at = 0; at < values.k; ++at) {
      reference += Widen(values.X(row, at)) * values.Weight(at, column);
    }
    const double bound = limits.element * std::fmax(std::fabs(reference), limits.typical);
    if (std::fabs(Widen(actual) - reference) <= bound) continue;
    verdict->passed = false;
    verdict->detail = "element " + std::to_string(index) + " is " + std::to_string(Widen(actual)) +
                      ", should be " + std::to_string(reference);
    break;
  }
  verdict->reference += "; fp64 on host, " + std::to_string(kSamples) + " elements";
  return Status::Ok();
}

unsigned Blocks(int64_t threads) {
  return static_cast<unsigned>(std::clamp<int64_t>((threads + kThreads - 1) / kThreads, 1, 4096));
}

// Calls `body` with the TypeTag of `type`.
template <typename Body>
auto WithType(GemmType type, const Body& body) {
  if (type == GemmType::kFp16) return body(TypeTag<__half>());
  return body(TypeTag<__nv_bfloat16>());
}

}  // namespace

Status FillInt4Inputs(const Int4Problem& problem, const Int4Operands& operands,
                      cudaStream_t stream) {
  WithType(problem.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const Int4Values<T> values = ValuesOf<T>(problem, operands.set);
    const Int4Layout layout = problem.Layout();
    FillXKernel<<<Blocks(problem.m * problem.k), kThreads, 0, stream>>>(
        values, static_cast<T*>(operands.x));
    PackValuesKernel<<<Blocks(layout.ValueBytes() / 4), kThreads, 0, stream>>>(
        values, layout, static_cast<uint32_t*>(operands.values));
    PackScalesKernel<<<Blocks(layout.ScaleBytes() / 4), kThreads, 0, stream>>>(
        values, layout, static_cast<Int4Scale<T>*>(operands.scales));
  });
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

Status EnqueueDequantise(const Int4Problem& problem, const Int4Operands& operands, void* weights,
                         cudaStream_t stream) {
  WithType(problem.type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const Int4Layout layout = problem.Layout();
    const int64_t threads = layout.ValueBytes() / 16;
    DequantiseKernel<<<static_cast<unsigned>((threads + kThreads - 1) / kThreads), kThreads, 0,
                       stream>>>(layout, static_cast<const uint4*>(operands.values),
                                 static_cast<const Int4Scale<T>*>(operands.scales),
                                 static_cast<T*>(weights));
  });
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

Result<Verdict> CheckInt4Gemm(const Int4Problem& problem, const Int4Operands& operands,
                              cudaStream_t stream) {
  GemmShape shape;
  shape.type = problem.type;
  shape.k = problem.k;
  ErrorLimits limits;
  limits.tolerance = GemmTolerance(shape);
  limits.element = kElementFactor * limits.tolerance;
  limits.typical = kTypicalWeight * std::sqrt(static_cast<double>(problem.k));
  ASSAY_ASSIGN_OR_RETURN(const ErrorAccumulator sums, ErrorAccumulator::Create(stream));
  return WithType(problem.type, [&](auto tag) -> Result<Verdict> {
    using T = typename decltype(tag)::Type;
    const Int4Values<T> values = ValuesOf<T>(problem, operands.set);
    const auto* const y = static_cast<const T*>(operands.y);
    const dim3 grid(static_cast<unsigned>((problem.n + kCheckTile - 1) / kCheckTile),
                    static_cast<unsigned>((problem.m + kCheckTile - 1) / kCheckTile));
    CheckKernel<<<grid, dim3(kCheckSide, kCheckSide), 0, stream>>>(values, y, limits,
                                                                   sums.device());
    ASSAY_CUDA(cudaGetLastError());
    ASSAY_ASSIGN_OR_RETURN(Verdict verdict,
                           sums.Read(problem.m * problem.n, limits,
                                     "fp64 on device, every element, dequantised anew", stream));
    ASSAY_RETURN_IF_ERROR(CheckOnHost(values, y, limits, stream, &verdict));
    return verdict;
  });
}

}  // namespace assay
