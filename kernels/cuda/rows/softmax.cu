// softmax: y = exp(x - max) / sum(exp(x - max)) of each row, in one kernel that reads
// and writes once, in one for short rows, and in a pass a step.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cuda/frame/exponential.cuh"
#include "kernels/cuda/rows/row_case.cuh"
#include "kernels/cuda/rows/softmax_variants.cuh"

namespace assay {
namespace {

struct SoftmaxOp {
  static constexpr int kWeights = 0;

  // Maximum, and sum of exp(x - max), of some elements (Milakov, Gimelshein: "Online
  // normalizer calculation for softmax", 2018).
  struct Partial {
    float max;
    float sum;
  };
  using Scale = float;

  __device__ static Partial None() { return {-INFINITY, 0}; }

  // Leaves exp(x - the lanes' own maximum) in x, so that each is computed once.
  template <typename Piece>
  __device__ static Partial Summarise(float (&x)[Piece::kElements], const Piece& piece) {
    piece.SetOutside(x, -INFINITY);
    float most = x[0];
#pragma unroll
    for (int i = 1; i < Piece::kElements; ++i) most = fmaxf(most, x[i]);
    most = MaxLanes<Piece::kLanes>(most);
    const float base = Finite(most);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < Piece::kElements; ++i) {
      x[i] = FastExp2((x[i] - base) * kLog2E);
      sum += x[i];
    }
    return {most, SumLanes<Piece::kLanes>(sum)};
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
    return FastExp2((own.max - row.max) * kLog2E) / row.sum;
  }

  __device__ static float Finish(float x, Scale scale, float, float) { return x * scale; }

  // Inputs are within +-3.47, so that fp64 needs no maximum: a reference of its own.
  __host__ __device__ static void AddToSums(double x, double* sums) { sums[0] += exp(x); }
  __host__ __device__ static double Reference(double x, const double* sums, double, double,
                                              double) {
    return exp(x) / sums[0];
  }

  // fp16's smallest steps are 2^-24: half of one is what a result may be off by.
  static ErrorLimits Limits(const std::string& dtype, int64_t columns) {
    ErrorLimits limits = RowErrorLimits(dtype, 1 / static_cast<double>(columns));
    if (dtype != "fp16") return limits;
    const double step = std::ldexp(1.0, -25) / limits.typical;
    limits.tolerance += step;
    limits.element += step;
    return limits;
  }

 private:
  // -inf, the maximum of no elements, subtracted from itself would be NaN.
  __device__ static float Finite(float most) { return most == -INFINITY ? 0 : most; }
};

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

  // The power of two at or above columns.
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
  // Two matrices, and a maximum and a sum a row.
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
  return WithElementType(
      Word(context.parameters, "dtype"), [&](auto tag) -> Result<std::unique_ptr<Case>> {
        using T = typename decltype(tag)::Type;
        return variant == "warp" ? PrepareGpuCase<WarpSoftmaxCase<T>>(context)
                                 : PrepareGpuCase<UnfusedSoftmaxCase<T>>(context);
      });
}

}  // namespace assay
