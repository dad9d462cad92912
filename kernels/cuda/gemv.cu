// gemv: y = x W' for a few rows of x, as in the decode step of a language model: every
// weight is read once and used m times, so that the memory is what counts.
//
// Several rows of bf16 or fp16 go through the tensor cores (gemv_kernel.cuh); a single one,
// fp32, and rows that do not begin at 16-byte boundaries, through fused multiply-adds.
//
// On Hopper iterations overlap as layers of a model do: a kernel loads its first weights,
// which none writes, while the one before it ends, and waits for that end before it reads
// x or writes y.
#include <string>
#include <variant>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/dependent_launch.cuh"
#include "kernels/cuda/element.cuh"
#include "kernels/cuda/gemm_data.h"
#include "kernels/cuda/gemm_values.cuh"
#include "kernels/cuda/gemv_launch.cuh"
#include "kernels/cuda/gemv_weights.cuh"
#include "kernels/cuda/gpu_case.h"

namespace assay {
namespace {

constexpr int kMaxRows = 128;
// Of the multiply-add kernel: a block's threads share kStripRows rows of W and split k.
constexpr int kThreads = 128;
constexpr int kStripRows = 4;

template <typename T, int length>
struct alignas(sizeof(T) * length) Vector {
  T element[length];
};

// Vector at `from` + `at`, zeros from `end` on.
template <typename T, int length>
__device__ Vector<T, length> LoadVector(const T* from, int64_t at, int64_t end) {
  if (at >= end) return {};
  return *reinterpret_cast<const Vector<T, length>*>(from + at);
}

// Block b: x rows of block b % row_blocks, so that blocks that are resident together
// share W in the L2 cache; strip b / row_blocks of W. `length` elements a load. A thread
// loads `ahead` vectors of each row of W before it needs the first.
template <typename T, int length, int rows, int ahead>
__global__ void __launch_bounds__(kThreads)
    FmaGemvKernel(const T* x, const T* w, T* y, int64_t m, int64_t n, int64_t k,
                  int64_t row_blocks) {
  using Load = Vector<T, length>;
  constexpr int kStep = kThreads * length;
  const int64_t row0 = blockIdx.x % row_blocks * rows;
  const int64_t column0 = blockIdx.x / row_blocks * kStripRows;
  float sum[rows][kStripRows] = {};
  // Rows beyond the last are computed like the last, and not stored.
  const T* x_row[rows];
  const T* w_row[kStripRows];
#pragma unroll
  for (int i = 0; i < rows; ++i) x_row[i] = x + min(row0 + i, m - 1) * k;
#pragma unroll
  for (int j = 0; j < kStripRows; ++j) w_row[j] = w + min(column0 + j, n - 1) * k;
  AllowNext();
  bool waited = false;
  for (int64_t at = int64_t{threadIdx.x} * length; at < k; at += ahead * kStep) {
    Load weights[ahead][kStripRows];
#pragma unroll
    for (int step = 0; step < ahead; ++step) {
#pragma unroll
      for (int j = 0; j < kStripRows; ++j) {
        weights[step][j] = LoadVector<T, length>(w_row[j], at + step * kStep, k);
      }
    }
    if (!waited) WaitForPrevious();
    waited = true;
#pragma unroll
    for (int step = 0; step < ahead; ++step) {
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        const Load values = LoadVector<T, length>(x_row[i], at + step * kStep, k);
#pragma unroll
        for (int j = 0; j < kStripRows; ++j) {
#pragma unroll
          for (int e = 0; e < length; ++e) {
            sum[i][j] += static_cast<float>(values.element[e]) *
                         static_cast<float>(weights[step][j].element[e]);
          }
        }
      }
    }
  }
  if (!waited) WaitForPrevious();
  __shared__ float sums[kThreads / 32][rows * kStripRows];
#pragma unroll
  for (int i = 0; i < rows; ++i) {
#pragma unroll
    for (int j = 0; j < kStripRows; ++j) {
      for (int offset = 16; offset > 0; offset /= 2) {
        sum[i][j] += __shfl_down_sync(0xffffffff, sum[i][j], offset);
      }
      if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32][i * kStripRows + j] = sum[i][j];
    }
  }
  __syncthreads();
  const int64_t row = row0 + threadIdx.x / kStripRows;
  const int64_t column = column0 + threadIdx.x % kStripRows;
  if (threadIdx.x >= rows * kStripRows || row >= m || column >= n) return;
  float total = 0;
  for (int warp = 0; warp < kThreads / 32; ++warp) total += sums[warp][threadIdx.x];
  y[row * n + column] = Narrow<T>(total);
}

template <typename T, int length>
Status LaunchFma(const T* x, const T* w, T* y, const GemmShape& shape, bool overlap,
                 cudaStream_t stream) {
  const auto launch = [&](auto rows, auto ahead) {
    constexpr int kRows = decltype(rows)::value;
    const int64_t row_blocks = (shape.m + kRows - 1) / kRows;
    const int64_t strips = (shape.n + kStripRows - 1) / kStripRows;
    return LaunchOverlapping(FmaGemvKernel<T, length, kRows, decltype(ahead)::value>,
                             dim3(static_cast<unsigned>(row_blocks * strips)), kThreads, 0, overlap,
                             stream, x, w, y, shape.m, shape.n, shape.k, row_blocks);
  };
  if (shape.m == 1)
    return launch(std::integral_constant<int, 1>(), std::integral_constant<int, 4>());
  if (shape.m <= 4)
    return launch(std::integral_constant<int, 4>(), std::integral_constant<int, 2>());
  return launch(std::integral_constant<int, 8>(), std::integral_constant<int, 1>());
}

template <typename T>
using DenseLauncher = GemvLauncher<DenseWeights<T>, T>;

template <typename T>
Result<DenseLauncher<T>> MakeLauncher(const GemmShape& shape, const GpuDevice& device) {
  const auto make = [&](auto kind) {
    return DenseLauncher<T>::template Tiled<decltype(kind)>(shape.m, shape.n, shape.k, device);
  };
  if (shape.m <= 8) return make(GemvShape<1, 1, 1, 8, 4, false>());
  if (shape.m <= 16) return make(GemvShape<2, 1, 4, 2, 4, true>());
  if (shape.m <= 32) return make(GemvShape<4, 1, 4, 2, 4, true>());
  if (shape.m <= 64) return make(GemvShape<8, 1, 8, 1, 4, true>());
  return make(GemvShape<16, 1, 8, 1, 4, true>());
}

GemmShape ShapeOf(const ParameterMap& parameters) {
  GemmShape shape;
  const std::string& dtype = Word(parameters, "dtype");
  shape.type = dtype == "fp32"   ? GemmType::kFp32
               : dtype == "fp16" ? GemmType::kFp16
                                 : GemmType::kBf16;
  shape.m = Integer(parameters, "m");
  shape.n = Integer(parameters, "n");
  shape.k = Integer(parameters, "k");
  shape.b_transposed = true;
  return shape;
}

class GemvCase : public GpuCase {
 public:
  explicit GemvCase(const RunContext& context)
      : GpuCase(context),
        dtype_(Word(context.parameters, "dtype")),
        shape_(ShapeOf(context.parameters)) {}

 protected:
  Status SetUp() override {
    if (dtype_ == "bf16") {
      ASSAY_RETURN_IF_ERROR(NeedCapability(device(), 8, 0, "bf16"));
    }
    x_ = AddArray(shape_.ABytes());
    w_ = AddArray(shape_.BBytes());
    y_ = AddArray(shape_.DBytes());
    ASSAY_RETURN_IF_ERROR(AllocateSets("x, W and y of " + std::to_string(shape_.m) + " x " +
                                           std::to_string(shape_.n) + " x " +
                                           std::to_string(shape_.k),
                                       4));
    return WithElementType(dtype_, [this](auto tag) -> Status {
      using T = typename decltype(tag)::Type;
      for (int64_t set = 0; set < sets(); ++set) {
        const int64_t x_count = shape_.m * shape_.k;
        const int64_t w_count = shape_.n * shape_.k;
        ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, x_), x_count, zeros(), seed(), kStreamA,
                                           set * x_count, stream()));
        ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, w_), w_count, zeros(), seed(), kStreamB,
                                           set * w_count, stream()));
      }
      if constexpr (sizeof(T) == 2) {
        if (shape_.m > 1 && shape_.k % 8 == 0 && device().compute_major >= 8) {
          ASSAY_ASSIGN_OR_RETURN(launcher_, MakeLauncher<T>(shape_, device()));
        }
      }
      return Status::Ok();
    });
  }

  Status Enqueue(int64_t set) override {
    return WithElementType(dtype_, [&](auto tag) -> Status {
      using T = typename decltype(tag)::Type;
      const T* const x = Array<T>(set, x_);
      const T* const w = Array<T>(set, w_);
      T* const y = Array<T>(set, y_);
      if constexpr (sizeof(T) == 2) {
        if (const auto* launcher = std::get_if<DenseLauncher<T>>(&launcher_)) {
          return launcher->Launch({w, shape_.n, shape_.k}, x, y, stream());
        }
      }
      constexpr int kLength = 16 / sizeof(T);
      const bool overlap = device().compute_major >= 9;
      return shape_.k % kLength == 0 ? LaunchFma<T, kLength>(x, w, y, shape_, overlap, stream())
                                     : LaunchFma<T, 1>(x, w, y, shape_, overlap, stream());
    });
  }

  OutputRange Output(int64_t set) override { return {Array<void>(set, y_), shape_.DBytes()}; }

  Result<Verdict> Check(int64_t set) override {
    GemmInputs inputs;
    inputs.seed = seed();
    inputs.zeros = zeros();
    inputs.stride_a = shape_.m * shape_.k;
    inputs.stride_b = shape_.n * shape_.k;
    return CheckGemm(shape_, inputs, set,
                     {Array<void>(set, x_), Array<void>(set, w_), Array<void>(set, y_)}, stream());
  }

 private:
  const std::string dtype_;
  const GemmShape shape_;
  int x_ = 0;
  int w_ = 0;
  int y_ = 0;
  // Empty where multiply-adds do the work.
  std::variant<std::monostate, DenseLauncher<__nv_bfloat16>, DenseLauncher<__half>> launcher_;
};

class Gemv : public Benchmark {
 public:
  Gemv() {
    info_.name = "gemv";
    info_.summary = "y = x W' for a few rows of x: reads every weight once";
    info_.resource = Resource::kGpu;
    info_.parameters = {
        {"m", ParameterType::kInteger, "rows of x and y", "1", 1, kMaxRows, {}},
        {"n", ParameterType::kInteger, "rows of W, columns of y", "8192", 1, 1 << 20, {}},
        {"k", ParameterType::kInteger, "columns of x and of W", "8192", 1, 1 << 20, {}},
        DtypeParameter({"bf16", "fp16", "fp32"}),
        FillParameter(),
        CacheParameter("one set of x, W and y"),
        LaunchParameter()};
    info_.selftest_parameters = {{"m", "5"}, {"n", "333"}, {"k", "1096"}};
    info_.metrics = {{"bandwidth", "GB/s", Direction::kHigherIsBetter,
                      "bytes of weights, n k elements, a second", Quantity::kPayloadBytes, 1e-9},
                     {"tflops", "TFLOP/s", Direction::kHigherIsBetter,
                      "multiplications and additions a second", Quantity::kFlops, 1e-12},
                     TimeMetric()};
    info_.model =
        "FLOPs = 2 m n k; bytes = (n k + m k + m n) x element size; "
        "time = max(FLOPs / peak, bytes / read bandwidth) + 2.5 us";
  }

  const BenchmarkInfo& Info() const override { return info_; }
  std::string UnsupportedReason() const override { return WhyNoGpu(); }

  Result<Work> WorkOf(const ParameterMap& parameters, int) const override {
    const GemmShape shape = ShapeOf(parameters);
    Work work;
    work.flops = shape.Flops();
    work.peak = shape.type == GemmType::kFp32 ? "fp32" : "bf16";
    work.bytes = static_cast<double>(shape.ABytes() + shape.BBytes() + shape.DBytes());
    work.payload_bytes = static_cast<double>(shape.BBytes());
    work.traffic = "read";
    work.fixed_seconds = kLaunchSeconds;
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    return PrepareGpuCase<GemvCase>(context);
  }

 private:
  BenchmarkInfo info_;
};

}  // namespace

std::unique_ptr<Benchmark> NewGemv() { return std::make_unique<Gemv>(); }

}  // namespace assay
