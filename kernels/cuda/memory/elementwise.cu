// The kernels of the vector_add, elementwise_mul and relu benchmarks. They read each input element
// once and write each output element once.
#include <cmath>

#include "common/units.h"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/frame/vector.cuh"
#include "kernels/cuda/memory/work_sizes.h"

namespace assay {
namespace {

enum class ElementwiseOp { kAdd, kMultiply, kRelu };

constexpr uint64_t kStreamX = 1;
constexpr uint64_t kStreamY = 2;
// The value of a kernel's template argument `threads` when the number of threads per block is known
// only at launch.
constexpr int kAsLaunched = 0;

int InputsOf(ElementwiseOp op) { return op == ElementwiseOp::kRelu ? 1 : 2; }

// Returns the result for one element, computed in fp32 and rounded once, so that every correct
// implementation produces the same bits.
template <ElementwiseOp op, typename T>
__host__ __device__ T Apply(T x, T y) {
  const auto a = static_cast<float>(x);
  const auto b = static_cast<float>(y);
  if (op == ElementwiseOp::kAdd) return Narrow<T>(a + b);
  if (op == ElementwiseOp::kMultiply) return Narrow<T>(a * b);
  return Narrow<T>(a > 0 ? a : 0.0F);
}

// Computes `out` from `x` and `y`. Each thread processes 16 bytes per array. `threads` is the
// number of threads per block, or kAsLaunched.
template <ElementwiseOp op, typename T, int threads>
__global__ void __launch_bounds__(threads == kAsLaunched ? 1024 : threads)
    ElementwiseKernel(const T* x, const T* y, T* out, int64_t count) {
  constexpr bool kTwoInputs = op != ElementwiseOp::kRelu;
  constexpr int kLength = Vector<T>::kLength;
  const int64_t vectors = count / kLength;
  const int block = threads == kAsLaunched ? static_cast<int>(blockDim.x) : threads;
  const int64_t at = int64_t{blockIdx.x} * block + threadIdx.x;
  if (at < vectors) {
    const Vector<T> a = reinterpret_cast<const Vector<T>*>(x)[at];
    const Vector<T> b = kTwoInputs ? reinterpret_cast<const Vector<T>*>(y)[at] : a;
    Vector<T> result;
#pragma unroll
    for (int i = 0; i < kLength; ++i) result.element[i] = Apply<op>(a.element[i], b.element[i]);
    reinterpret_cast<Vector<T>*>(out)[at] = result;
  }
  // Block 0 also processes the elements beyond the last whole vector.
  const int64_t tail = vectors * kLength + threadIdx.x;
  if (blockIdx.x == 0 && tail < count)
    out[tail] = Apply<op>(x[tail], kTwoInputs ? y[tail] : x[tail]);
}

template <ElementwiseOp op, typename T>
__global__ void CheckKernel(const T* out, int64_t count, bool zeros, uint64_t seed, int64_t first,
                            Mismatches* mismatches) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const T zero = Narrow<T>(0.0F);
    const T x = zeros ? zero : RandomElement<T>(seed, kStreamX, first + i);
    const T y = zeros ? zero : RandomElement<T>(seed, kStreamY, first + i);
    // The comparison is negated, so that NaN, which equals no number, counts as a mismatch.
    if (!(out[i] == Apply<op>(x, y))) Report(mismatches, i);
  }
}

template <ElementwiseOp op>
class ElementwiseCase : public GpuCase {
 public:
  explicit ElementwiseCase(const RunContext& context)
      : GpuCase(context),
        dtype_(Word(context.parameters, "dtype")),
        count_(Integer(context.parameters, "elements")),
        threads_(Integer(context.parameters, "block_size")) {}

 protected:
  Status SetUp() override {
    const int64_t bytes = count_ * ElementBytes(dtype_);
    for (int array = 0; array <= InputsOf(op); ++array) AddArray(bytes);
    ASSAY_RETURN_IF_ERROR(AllocateSets(
        std::to_string(InputsOf(op) + 1) + " arrays of " + ApproximateBytes(bytes), 4));
    return WithElementType(dtype_, [this](auto tag) -> Status {
      using T = typename decltype(tag)::Type;
      for (int64_t set = 0; set < sets(); ++set) {
        for (int input = 1; input <= InputsOf(op); ++input) {
          ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, input), count_, zeros(), seed(),
                                             input == 1 ? kStreamX : kStreamY, set * count_,
                                             stream()));
        }
      }
      return Status::Ok();
    });
  }

  Status Enqueue(int64_t set) override {
    WithElementType(dtype_, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      const auto kernel = threads_ == kElementwiseThreads
                              ? ElementwiseKernel<op, T, kElementwiseThreads>
                              : ElementwiseKernel<op, T, kAsLaunched>;
      const int64_t block = threads_ * Vector<T>::kLength;
      const auto blocks = static_cast<unsigned>((count_ + block - 1) / block);
      kernel<<<blocks, static_cast<unsigned>(threads_), 0, stream()>>>(
          Array<T>(set, 1), InputsOf(op) == 2 ? Array<T>(set, 2) : nullptr, Array<T>(set, 0),
          count_);
    });
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  OutputRange Output(int64_t set) override {
    return {Array<void>(set, 0), count_ * ElementBytes(dtype_)};
  }

  Result<Verdict> Check(int64_t set) override {
    ASSAY_ASSIGN_OR_RETURN(const MismatchCounter counter, MismatchCounter::Create(stream()));
    WithElementType(dtype_, [&](auto tag) {
      using T = typename decltype(tag)::Type;
      CheckKernel<op><<<2048, 256, 0, stream()>>>(Array<T>(set, 0), count_, zeros(), seed(),
                                                  set * count_, counter.device());
    });
    ASSAY_CUDA(cudaGetLastError());
    return counter.Read(Array<void>(set, 0), count_, ElementBytes(dtype_), stream());
  }

 private:
  const std::string dtype_;
  const int64_t count_;
  const int64_t threads_;  // Per block.
};

}  // namespace

Result<std::unique_ptr<Case>> NewVectorAddCase(const RunContext& context) {
  return PrepareCase<ElementwiseCase<ElementwiseOp::kAdd>>(context);
}

Result<std::unique_ptr<Case>> NewElementwiseMulCase(const RunContext& context) {
  return PrepareCase<ElementwiseCase<ElementwiseOp::kMultiply>>(context);
}

Result<std::unique_ptr<Case>> NewReluCase(const RunContext& context) {
  return PrepareCase<ElementwiseCase<ElementwiseOp::kRelu>>(context);
}

}  // namespace assay
