// The softmax benchmark: y = exp(x - max) / sum(exp(x - max)) for each row of a matrix. Its
// variants are `fused` (one kernel that reads and writes each element once), `warp` (one kernel for
// short rows) and `unfused` (one kernel per step of the formula).
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cuda/frame/exponential.cuh"
#include "kernels/cuda/rows/row_case.cuh"
#include "kernels/cuda/rows/row_kernels.cuh"

namespace assay {
namespace {

struct SoftmaxOp {
  static constexpr int kWeights = 0;

  // The maximum of some elements x, and the sum of their exp(x - max). Two such results can be
  // merged (Milakov, Gimelshein: "Online normalizer calculation for softmax", 2018).
  struct Partial {
    float max;
    float sum;
  };
  using Scale = float;

  __device__ static Partial None() { return {-INFINITY, 0}; }

  // Replaces each x with exp(x - max), where max is the maximum of this group of lanes. Each
  // exponential is thus computed only once, and Finish() only needs to scale it.
  template <typename Piece>
  __device__ static Partial Summarise(float (&x)[Piece::kElements], const Piece& piece) {
    piece.SetOutside(x, -INFINITY);
    float most = x[0];
#pragma unroll
    for (int i = 1; i < Piece::kElements; ++i) most = fmaxf(most, x[i]);
    most = piece.Max(most);
    const float shift = -Finite(most) * kLog2E;
    float sum = 0;
#pragma unroll
    for (int i = 0; i < Piece::kElements; ++i) {
      x[i] = FastExp2(fmaf(x[i], kLog2E, shift));
      sum += x[i];
    }
    return {most, piece.Sum(sum)};
  }

  template <int kLanes>
  __device__ static Partial Merge(Partial partial) {
    const float most = MaxLanes<kLanes>(partial.max);
    return {most, SumLanes<kLanes>(partial.sum * FastExp2((partial.max - Finite(most)) * kLog2E))};
  }

  __device__ static Partial Combine(Partial a, Partial b) {
    const float most = fmaxf(a.max, b.max);
    const float base = Finite(most);
    return {most,
            a.sum * FastExp2((a.max - base) * kLog2E) + b.sum * FastExp2((b.max - base) * kLog2E)};
  }

  __device__ static Scale ScaleOf(const Partial& own, const Partial& row, int64_t) {
    return __fdividef(FastExp2((own.max - row.max) * kLog2E), row.sum);
  }

  __device__ static float Finish(float x, Scale scale, float, float) { return x * scale; }

  // Compute the reference in fp64. Unlike the kernels, these functions do not subtract the maximum:
  // inputs are within +-3.47, so the exponentials cannot overflow.
  __host__ __device__ static void AddToSums(double x, double* sums) { sums[0] += exp(x); }
  __host__ __device__ static double Reference(double x, const double* sums, double, double,
                                              double) {
    return exp(x) / sums[0];
  }

  // Returns the error limits. For fp16, adds half of the type's smallest step (2^-24), because even
  // a correctly rounded result may be off by that much.
  static ErrorLimits Limits(const std::string& dtype, int64_t columns) {
    ErrorLimits limits = RowErrorLimits(dtype, 1 / static_cast<double>(columns));
    if (dtype != "fp16") return limits;
    const double step = std::ldexp(1.0, -25) / limits.typical;
    limits.tolerance += step;
    limits.element += step;
    return limits;
  }

 private:
  // Returns 0 for -inf, the maximum of no elements, because -inf - -inf would be NaN.
  __device__ static float Finite(float most) { return most == -INFINITY ? 0 : most; }
};

constexpr int kWarpSoftmaxThreads = 256;
// Number of rows that a group of lanes processes, with the loads of all rows in flight at once.
constexpr int kWarpSoftmaxRows = 8;

// Computes the softmax of short rows: each group of kGroup lanes computes one row at a time, with
// one column per lane. kGroup must be at least the number of columns.
template <typename T, int kGroup>
__global__ void __launch_bounds__(kWarpSoftmaxThreads) WarpSoftmaxKernel(RowArgs<T> args) {
  constexpr int kGroups = kWarpSoftmaxThreads / kGroup;
  const int64_t first = int64_t{blockIdx.x} * kGroups * kWarpSoftmaxRows + threadIdx.x / kGroup;
  const int column = threadIdx.x % kGroup;
  float x[kWarpSoftmaxRows];
#pragma unroll
  for (int i = 0; i < kWarpSoftmaxRows; ++i) {
    const int64_t row = first + i * kGroups;
    const bool inside = row < args.rows && column < args.columns;
    x[i] = inside ? static_cast<float>(args.in[row * args.columns + column]) : -INFINITY;
  }
#pragma unroll
  for (int i = 0; i < kWarpSoftmaxRows; ++i) {
    float most = x[i];
#pragma unroll
    for (int mask = kGroup / 2; mask > 0; mask /= 2) {
      most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, mask));
    }
    const float exponential = FastExp2((x[i] - most) * kLog2E);
    float sum = exponential;
#pragma unroll
    for (int mask = kGroup / 2; mask > 0; mask /= 2) {
      sum += __shfl_xor_sync(0xffffffff, sum, mask);
    }
    const int64_t row = first + i * kGroups;
    if (row < args.rows && column < args.columns) {
      args.out[row * args.columns + column] = Narrow<T>(exponential / sum);
    }
  }
}

// Sizes of the kernels of the `unfused` variant. Like the operators of a deep-learning framework,
// each kernel reads its inputs from memory and writes its result back. Intermediate results are
// fp32.
constexpr int kPassThreads = 256;
constexpr int kPassColumns = 4096;  // Columns of a row that one block processes.

// Computes result[row], the maximum or the sum of a row, with one block per row.
template <bool kMaximum, typename T>
__global__ void __launch_bounds__(kPassThreads)
    ReducePassKernel(const T* in, float* result, int64_t columns) {
  const T* const row = in + blockIdx.x * columns;
  float total = kMaximum ? -INFINITY : 0;
  for (int64_t i = threadIdx.x; i < columns; i += kPassThreads) {
    const auto value = static_cast<float>(row[i]);
    total = kMaximum ? fmaxf(total, value) : total + value;
  }
  __shared__ float of_warp[kPassThreads / 32];
  for (int mask = 16; mask > 0; mask /= 2) {
    const float other = __shfl_xor_sync(0xffffffff, total, mask);
    total = kMaximum ? fmaxf(total, other) : total + other;
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kPassThreads / 32; ++warp) {
    total = kMaximum ? fmaxf(total, of_warp[warp]) : total + of_warp[warp];
  }
  result[blockIdx.x] = total;
}

enum class Pass { kSubtract, kExponential, kDivide };

// Applies `pass` to each element, using its row's operand: the maximum (kSubtract) or the sum
// (kDivide).
template <Pass pass, typename In, typename Out>
__global__ void __launch_bounds__(kPassThreads)
    ElementPassKernel(const In* in, const float* of_row, Out* out, int64_t columns) {
  const int64_t chunks = (columns + kPassColumns - 1) / kPassColumns;
  const int64_t row = blockIdx.x / chunks;
  const int64_t begin = blockIdx.x % chunks * kPassColumns;
  const int64_t end = min(begin + kPassColumns, columns);
  const float operand = pass == Pass::kExponential ? 0 : of_row[row];
  for (int64_t i = begin + threadIdx.x; i < end; i += kPassThreads) {
    const auto x = static_cast<float>(in[row * columns + i]);
    if constexpr (pass == Pass::kSubtract) out[row * columns + i] = Narrow<Out>(x - operand);
    if constexpr (pass == Pass::kExponential)
      out[row * columns + i] = Narrow<Out>(FastExp2(x * kLog2E));
    if constexpr (pass == Pass::kDivide) out[row * columns + i] = Narrow<Out>(x / operand);
  }
}

template <typename T>
class WarpSoftmaxCase : public RowCase<SoftmaxOp, T> {
 public:
  using RowCase<SoftmaxOp, T>::RowCase;

 protected:
  Result<int64_t> PlanVariant() override {
    return BlockRows() * kMostBlocks < this->rows()
               ? Result<int64_t>(InvalidArgument(std::to_string(this->rows()) +
                                                 " rows are more than a launch has blocks for"))
               : Result<int64_t>(0);
  }

  Status EnqueueVariant(const RowArgs<T>& args, void*) override {
    switch (Group()) {
      case 1:
        return Launch<1>(args);
      case 2:
        return Launch<2>(args);
      case 4:
        return Launch<4>(args);
      case 8:
        return Launch<8>(args);
      case 16:
        return Launch<16>(args);
      default:
        return Launch<32>(args);
    }
  }

 private:
  static constexpr int64_t kMostBlocks = std::numeric_limits<int>::max();

  // Returns the smallest power of two that is at least the number of columns.
  int64_t Group() const {
    int64_t group = 1;
    while (group < this->columns()) group *= 2;
    return group;
  }
  int64_t BlockRows() const { return kWarpSoftmaxThreads / Group() * kWarpSoftmaxRows; }

  template <int kGroup>
  Status Launch(const RowArgs<T>& args) {
    const auto blocks = static_cast<unsigned>((args.rows + BlockRows() - 1) / BlockRows());
    WarpSoftmaxKernel<T, kGroup><<<blocks, kWarpSoftmaxThreads, 0, this->stream()>>>(args);
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }
};

template <typename T>
class UnfusedSoftmaxCase : public RowCase<SoftmaxOp, T> {
 public:
  using RowCase<SoftmaxOp, T>::RowCase;

 protected:
  // Needs two fp32 matrices, and a maximum and a sum per row.
  Result<int64_t> PlanVariant() override {
    const int64_t chunks = (this->columns() + kPassColumns - 1) / kPassColumns;
    if (this->rows() * chunks > std::numeric_limits<int>::max()) {
      return InvalidArgument(std::to_string(this->rows()) + " rows of " +
                             std::to_string(this->columns()) +
                             " columns are more than a launch has blocks for (2^31 - 1)");
    }
    return (2 * this->rows() * this->columns() + 2 * this->rows()) *
           static_cast<int64_t>(sizeof(float));
  }

  Status EnqueueVariant(const RowArgs<T>& args, void* workspace) override {
    const int64_t elements = args.rows * args.columns;
    auto* const differences = static_cast<float*>(workspace);
    float* const exponentials = differences + elements;
    float* const maxima = exponentials + elements;
    float* const sums = maxima + args.rows;
    const int64_t chunks = (args.columns + kPassColumns - 1) / kPassColumns;
    const auto rows = static_cast<unsigned>(args.rows);
    const auto blocks = static_cast<unsigned>(args.rows * chunks);
    const cudaStream_t stream = this->stream();
    ReducePassKernel<true><<<rows, kPassThreads, 0, stream>>>(args.in, maxima, args.columns);
    ElementPassKernel<Pass::kSubtract>
        <<<blocks, kPassThreads, 0, stream>>>(args.in, maxima, differences, args.columns);
    ElementPassKernel<Pass::kExponential>
        <<<blocks, kPassThreads, 0, stream>>>(differences, nullptr, exponentials, args.columns);
    ReducePassKernel<false><<<rows, kPassThreads, 0, stream>>>(exponentials, sums, args.columns);
    ElementPassKernel<Pass::kDivide>
        <<<blocks, kPassThreads, 0, stream>>>(exponentials, sums, args.out, args.columns);
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }
};

}  // namespace

Result<std::unique_ptr<Case>> NewSoftmaxCase(const RunContext& context) {
  const std::string& variant = Word(context.parameters, "variant");
  if (variant == "fused") return PrepareRowCase<SoftmaxOp>(context);
  return WithElementType(Word(context.parameters, "dtype"),
                         [&](auto tag) -> Result<std::unique_ptr<Case>> {
                           using T = typename decltype(tag)::Type;
                           return variant == "warp" ? PrepareCase<WarpSoftmaxCase<T>>(context)
                                                    : PrepareCase<UnfusedSoftmaxCase<T>>(context);
                         });
}

}  // namespace assay
