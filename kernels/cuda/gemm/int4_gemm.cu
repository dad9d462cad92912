// The int4_gemm benchmark: a product with a matrix W of 4-bit integers. It has two variants:
// - fused: W is unpacked in registers on its way to the tensor cores, so the kernel reads only a
//   quarter of the bytes of a 16-bit W. On Hopper and newer GPUs, successive iterations overlap
//   (see gemv.cu).
// - naive: one kernel dequantizes all of W to memory, and cuBLASLt then multiplies. This moves more
//   bytes than a product with a 16-bit W would.
#include <functional>
#include <memory>
#include <string>

#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/gemm/cublas_lt.h"
#include "kernels/cuda/gemm/int4_digits_gemv.cuh"
#include "kernels/cuda/gemm/int4_gemm_data.h"
#include "kernels/cuda/gemm/int4_gemm_weights.cuh"
#include "kernels/cuda/gemm/int4_gemv.cuh"
#include "kernels/cuda/gemm/lt_gemm.h"
#include "kernels/cuda/gemv/gemv_launch.cuh"

namespace assay {
namespace {

// Shared memory that CUDA reserves per block, in bytes.
constexpr int64_t kBlockReserve = 1024;

Int4Problem ProblemOf(const ParameterMap& parameters) {
  Int4Problem problem;
  problem.type = Word(parameters, "dtype") == "fp16" ? GemmType::kFp16 : GemmType::kBf16;
  problem.m = Integer(parameters, "m");
  problem.n = Integer(parameters, "n");
  problem.k = Integer(parameters, "k");
  problem.group = std::stoll(Word(parameters, "group"));
  return problem;
}

int Log2(int64_t power) {
  int log = 0;
  while (int64_t{1} << log < power) ++log;
  return log;
}

// Enqueues the product of one rotation set.
using Multiply = std::function<Status(const Int4Operands&, cudaStream_t)>;

constexpr int kGemvWarps = 8;  // Warps per block of Int4GemvKernel.

// A kernel for few rows of x, and its launch parameters.
template <typename T>
struct Int4Gemv {
  void (*kernel)(Int4GemvArguments<T>) = nullptr;
  int warps = 0;  // Warps per block.
  int pairs = 0;  // Pairs of tiles per block.
  int64_t shared_bytes = 0;
};

// Chooses between two versions of Int4GemvKernel:
// - Four blocks per multiprocessor, with each lane loading one unit of 128 weights ahead. This
//   version is faster. It requires more than two blocks per multiprocessor, enough shared memory
//   for four, and only one scale per unit and column.
// - Two blocks per multiprocessor, with each lane loading two or three units ahead.
template <typename T, int parts>
Int4Gemv<T> ChooseGemv(const Int4Problem& problem, const GpuDevice& device) {
  const int64_t shared = Int4GemvSharedBytes(problem.m, problem.k, kGemvWarps);
  if constexpr (parts == 1) {
    const bool filled = problem.Layout().Pairs() > 2 * device.sm_count;
    if (filled && 4 * (shared + kBlockReserve) <= device.shared_bytes_per_block + kBlockReserve) {
      return {Int4GemvKernel<T, parts, kGemvWarps, 1, 4>, kGemvWarps, 1, shared};
    }
  }
  constexpr int kDepth = parts == 4 ? 2 : 3;
  return {Int4GemvKernel<T, parts, kGemvWarps, kDepth, 2>, kGemvWarps, 1, shared};
}

// Chooses the number of columns per block for Int4DigitsGemvKernel. Every block converts all of x,
// so more columns per block save work, as long as at least three quarters of the multiprocessors
// have a block.
template <typename T>
Int4Gemv<T> ChooseDigitsGemv(const Int4Problem& problem, const GpuDevice& device) {
  const int64_t shared = Int4DigitsSharedBytes(problem.m, problem.k);
  const int64_t share = problem.Layout().Pairs() * 4 / (device.sm_count * 3);
  if (share >= 4) return {Int4DigitsGemvKernel<T, 4>, kInt4DigitWarps, 4, shared};
  if (share >= 2) return {Int4DigitsGemvKernel<T, 2>, kInt4DigitWarps, 2, shared};
  return {Int4DigitsGemvKernel<T, 1>, kInt4DigitWarps, 1, shared};
}

template <typename T>
Int4Gemv<T> GemvFor(const Int4Problem& problem, const GpuDevice& device) {
  // Int4DigitsGemvKernel has one block per SM; overlapping launches fill its last wave.
  const bool overlap = device.compute_major >= 9;
  if (overlap && problem.m <= kInt4DigitRows && problem.group == kInt4DigitGroup) {
    const Int4Gemv<T> gemv = ChooseDigitsGemv<T>(problem, device);
    if (gemv.shared_bytes <= device.shared_bytes_per_block) return gemv;
  }
  return problem.group == 32   ? ChooseGemv<T, 4>(problem, device)
         : problem.group == 64 ? ChooseGemv<T, 2>(problem, device)
                               : ChooseGemv<T, 1>(problem, device);
}

template <typename T>
Result<Multiply> GemvProduct(const Int4Problem& problem, const GpuDevice& device) {
  const Int4Layout layout = problem.Layout();
  const Int4Gemv<T> gemv = GemvFor<T>(problem, device);
  const auto shared_bytes = static_cast<int>(gemv.shared_bytes);
  ASSAY_CUDA(
      cudaFuncSetAttribute(gemv.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  Int4GemvArguments<T> arguments;
  arguments.m = static_cast<int>(problem.m);
  arguments.n = static_cast<int>(problem.n);
  arguments.k = static_cast<int>(problem.k);
  arguments.units = static_cast<int>(layout.Units());
  const dim3 grid(static_cast<unsigned>((layout.Pairs() + gemv.pairs - 1) / gemv.pairs));
  const bool overlap = device.compute_major >= 9;
  return Multiply([=](const Int4Operands& operands, cudaStream_t stream) {
    Int4GemvArguments<T> set = arguments;
    set.x = static_cast<const T*>(operands.x);
    set.values = static_cast<const uint4*>(operands.values);
    set.scales = static_cast<const uint2*>(operands.scales);
    set.y = static_cast<T*>(operands.y);
    return LaunchOverlapping(gemv.kernel, grid, 32 * gemv.warps, shared_bytes, overlap, stream,
                             set);
  });
}

template <typename T, int least_group>
Result<Multiply> TiledProduct(const Int4Problem& problem, const GpuDevice& device) {
  using Weights = Int4Weights<T, least_group>;
  using Launcher = GemvLauncher<Weights, T>;
  const auto make = [&](auto shape) {
    return Launcher::template Tiled<decltype(shape)>(problem.m, problem.n, problem.k, device);
  };
  ASSAY_ASSIGN_OR_RETURN(Launcher made, problem.m <= 8    ? make(GemvShape<1, 2, 1, 8, 4, false>())
                                        : problem.m <= 16 ? make(GemvShape<2, 2, 1, 8, 4, false>())
                                        : problem.m <= 64
                                            ? make(GemvShape<8, 2, 4, 2, 4, true>())
                                            : make(GemvShape<16, 2, 8, 1, 4, true>()));
  const auto launcher = std::make_shared<Launcher>(std::move(made));
  const Int4Layout layout = problem.Layout();
  return Multiply([launcher, layout](const Int4Operands& operands, cudaStream_t stream) {
    const Weights weights{static_cast<const uint4*>(operands.values),
                          static_cast<const Int4Scale<T>*>(operands.scales),
                          layout.Pairs(),
                          layout.Units(),
                          layout.Groups(),
                          Log2(layout.group)};
    return launcher->Launch(weights, static_cast<const T*>(operands.x), static_cast<T*>(operands.y),
                            stream);
  });
}

template <typename T>
Result<Multiply> FusedProduct(const Int4Problem& problem, const GpuDevice& device) {
  if (problem.m <= kInt4GemvRows &&
      Int4GemvSharedBytes(problem.m, problem.k, kGemvWarps) <= device.shared_bytes_per_block) {
    return GemvProduct<T>(problem, device);
  }
  return problem.group == 32 ? TiledProduct<T, 32>(problem, device)
                             : TiledProduct<T, 64>(problem, device);
}

class Int4GemmCase : public GpuCase {
 public:
  explicit Int4GemmCase(const RunContext& context)
      : GpuCase(context),
        fused_(Word(context.parameters, "variant") == "fused"),
        problem_(ProblemOf(context.parameters)) {
    problem_.seed = context.seed;
  }

 protected:
  Status SetUp() override {
    ASSAY_RETURN_IF_ERROR(NeedCapability(device(), 8, 0, "int4_gemm"));
    const GemmShape shape = Shape();
    // Comes first, so that its workspace is not counted as memory for matrices.
    if (!fused_) {
      ASSAY_ASSIGN_OR_RETURN(gemm_, LtGemm::Create(shape));
    }
    x_ = AddArray(shape.ABytes());
    values_ = AddArray(problem_.Layout().ValueBytes());
    scales_ = AddArray(problem_.Layout().ScaleBytes());
    y_ = AddArray(shape.DBytes());
    if (!fused_) weights_ = AddArray(shape.BBytes());
    ASSAY_RETURN_IF_ERROR(AllocateSets("x, W and y of " + std::to_string(problem_.m) + " x " +
                                           std::to_string(problem_.n) + " x " +
                                           std::to_string(problem_.k),
                                       4));
    for (int64_t set = 0; set < sets(); ++set) {
      ASSAY_RETURN_IF_ERROR(FillInt4Inputs(problem_, OperandsOf(set), stream()));
    }
    if (fused_) {
      ASSAY_ASSIGN_OR_RETURN(multiply_, problem_.type == GemmType::kFp16
                                            ? FusedProduct<__half>(problem_, device())
                                            : FusedProduct<__nv_bfloat16>(problem_, device()));
      return Status::Ok();
    }
    for (int64_t set = 0; set < sets(); ++set) {
      ASSAY_RETURN_IF_ERROR(Dequantise(set));
    }
    int64_t next = 0;
    return gemm_
        ->Tune([this, &next] { return GemmOperandsOf(next++ % sets()); }, cold() ? "cold" : "hot",
               stream())
        .status();
  }

  Status Enqueue(int64_t set) override {
    if (fused_) return multiply_(OperandsOf(set), stream());
    ASSAY_RETURN_IF_ERROR(Dequantise(set));
    return gemm_->Enqueue(GemmOperandsOf(set), stream());
  }

  OutputRange Output(int64_t set) override { return {Array<void>(set, y_), Shape().DBytes()}; }

  Result<Verdict> Check(int64_t set) override {
    return CheckInt4Gemm(problem_, OperandsOf(set), stream());
  }

 private:
  // Returns the shape of the product with dequantized weights, which are n x k.
  GemmShape Shape() const {
    GemmShape shape;
    shape.type = problem_.type;
    shape.m = problem_.m;
    shape.n = problem_.n;
    shape.k = problem_.k;
    shape.b_transposed = true;
    return shape;
  }

  Int4Operands OperandsOf(int64_t set) const {
    return {set, Array<void>(set, x_), Array<void>(set, values_), Array<void>(set, scales_),
            Array<void>(set, y_)};
  }

  GemmOperands GemmOperandsOf(int64_t set) const {
    return {Array<void>(set, x_), Array<void>(set, weights_), Array<void>(set, y_)};
  }

  Status Dequantise(int64_t set) {
    return EnqueueDequantise(problem_, OperandsOf(set), Array<void>(set, weights_), stream());
  }

  const bool fused_;
  Int4Problem problem_;
  int x_ = 0;
  int values_ = 0;
  int scales_ = 0;
  int y_ = 0;
  int weights_ = 0;               // Dequantized; naive only.
  Multiply multiply_;             // Fused only.
  std::unique_ptr<LtGemm> gemm_;  // Naive only.
};

}  // namespace

Result<std::unique_ptr<Case>> NewInt4GemmCase(const RunContext& context) {
  return PrepareCase<Int4GemmCase>(context);
}

}  // namespace assay
