// The layernorm_linear benchmark: y = LN(x) W + b, where LN normalizes each row of x as in the
// layernorm benchmark. The variants are:
// - unfused: one kernel writes LN(x) to memory. A matrix product multiplies it by W and adds b.
// - fused: one kernel writes only the mean and 1 / deviation of each row. The product multiplies x
//   itself, and its epilogue does the rest: LN(x) W + b = (x W' - mean * sums) / deviation + b'.
//   W', sums and b' do not depend on x. They are computed once, untimed, as a model would do when
//   loading its weights.
// - library: like unfused, but cuBLASLt multiplies, adding b in its own epilogue.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/units.h"
#include "kernels/cuda/execution/sustained_load.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/error_sums.cuh"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/gemm/cublas_lt.h"
#include "kernels/cuda/gemm/gemm_data.h"
#include "kernels/cuda/gemm/lt_gemm.h"
#include "kernels/cuda/matmul/matmul_mma.cuh"
#include "kernels/cuda/rows/layernorm_op.cuh"
#include "kernels/cuda/rows/row_case.cuh"

namespace assay {
namespace {

// The random sequences of W and b. Those of x, gamma and beta have lower numbers.
constexpr uint64_t kStreamMatrix = kRowStreamWeights + 2;
constexpr uint64_t kStreamBias = kStreamMatrix + 1;

// The input values, computed from the seed. W is a row-major columns x outputs matrix whose element
// i is element first + i of a random sequence.
template <typename T>
struct LinearValues {
  RowValues<T> x;  // With gamma and beta.
  int64_t outputs = 0;
  int64_t first = 0;

  __host__ __device__ double Weight(int64_t row, int64_t column) const {
    return Widen(RandomElement<T>(x.seed, kStreamMatrix, first + row * outputs + column));
  }
  __host__ __device__ double Bias(int64_t column) const {
    return Widen(RandomElement<T>(x.seed, kStreamBias, column));
  }
};

// The mean and 1 / deviation of one row.
struct RowStatistics {
  float mean;
  float inverse_deviation;
};

// Computes the statistics of one row per group of kGroup threads, which hold the row in registers.
template <typename T, int kThreads, int kGroup, int kVectors>
__global__ void __launch_bounds__(kThreads, RowBlocksPerSm(kThreads))
    StatisticsKernel(const T* x, int64_t rows, int columns, RowStatistics* statistics) {
  using Piece = RowPiece<T, kGroup, kVectors, /*kAligned=*/true>;
  constexpr int kGroups = kThreads / kGroup;
  __shared__ LayerNormOp::Partial scratch[kThreads / 32];
  const int64_t row = int64_t{blockIdx.x} * kGroups + threadIdx.x / kGroup;
  // Rows beyond the last have no columns.
  const Piece piece(row * columns, row < rows ? columns : 0, threadIdx.x % kGroup);
  float elements[Piece::kElements];
  LoadPiece(x, piece, elements);
  LayerNormOp::Partial total = LayerNormOp::Summarise(elements, piece);
  if constexpr (kGroup > 32) total = MergeWarps<LayerNormOp, kThreads>(total, scratch);
  if (threadIdx.x % kGroup != 0 || row >= rows) return;
  const auto scale = LayerNormOp::ScaleOf(total, total, columns);
  statistics[row] = {total.mean, scale.inverse_deviation};
}

// The kernel for rows of one length, with the smallest group of threads whose registers hold a row.
template <typename T>
struct StatisticsProgram {
  void (*kernel)(const T*, int64_t, int, RowStatistics*);
  int threads;
  int rows;  // Rows per block.

  static StatisticsProgram For(int64_t columns) {
    const int64_t vectors = columns / Vector<T>::kLength;
    if (vectors <= 32) return {StatisticsKernel<T, 256, 32, 1>, 256, 8};
    if (vectors <= 128) return {StatisticsKernel<T, 256, 32, 4>, 256, 8};
    if (vectors <= 512) return {StatisticsKernel<T, 128, 128, 4>, 128, 1};
    if (vectors <= 1024) return {StatisticsKernel<T, 256, 256, 4>, 256, 1};
    if (vectors <= 2048) return {StatisticsKernel<T, 512, 512, 4>, 512, 1};
    return {StatisticsKernel<T, 1024, 1024, 4>, 1024, 1};
  }
};

// Returns elements `column` and `column` + 1 of a row. `column` must be even.
__device__ float2 PairAt(const float* row, int column) {
  return __ldg(reinterpret_cast<const float2*>(row + column));
}

// An epilogue of the product (see mma::PlainEpilogue) that adds b.
struct BiasEpilogue {
  const float* bias;

  struct Row {
    const float* bias;
    __device__ float2 operator()(int column, float2 sum) const {
      const float2 b = PairAt(bias, column);
      return make_float2(sum.x + b.x, sum.y + b.y);
    }
  };
  __device__ Row AtRow(int /*row*/) const { return {bias}; }
};

// An epilogue of the product that turns x W' into LN(x) W + b.
struct NormalizingEpilogue {
  const RowStatistics* statistics;
  const float* sums;  // Of the columns of W'.
  const float* bias;  // b'.

  struct Row {
    RowStatistics of_row;
    const float* sums;
    const float* bias;
    __device__ float2 operator()(int column, float2 sum) const {
      const float2 of_column = PairAt(sums, column);
      const float2 b = PairAt(bias, column);
      return make_float2(Finish(sum.x, of_column.x, b.x), Finish(sum.y, of_column.y, b.y));
    }
    __device__ float Finish(float sum, float of_column, float b) const {
      return fmaf(fmaf(-of_row.mean, of_column, sum), of_row.inverse_deviation, b);
    }
  };
  __device__ Row AtRow(int row) const { return {statistics[row], sums, bias}; }
};

// Computes W', `sums` and b' for the `fused` variant, with one thread per column of W. Row c of W'
// is gamma[c] times row c of W, and b' = beta W + b. `sums` are the sums of the columns of W' after
// rounding to T, so that the mean of a row cancels exactly. Subtracting mean * sums would lose
// precision if means were large, but rows of x have variance 1 and a mean of about 0.
template <typename T>
__global__ void FoldKernel(LinearValues<T> values, T* folded, float* sums, float* bias) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= values.outputs) return;
  double sum = 0;
  double shift = values.Bias(column);
  for (int64_t row = 0; row < values.x.columns; ++row) {
    const double weight = values.Weight(row, column);
    const T product = Narrow<T>(static_cast<float>(values.x.Weight(0, row) * weight));
    folded[row * values.outputs + column] = product;
    sum += Widen(product);
    shift += values.x.Weight(1, row) * weight;
  }
  sums[column] = static_cast<float>(sum);
  bias[column] = static_cast<float>(shift);
}

template <typename T>
__global__ void FillBiasKernel(LinearValues<T> values, float* bias) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column < values.outputs) bias[column] = static_cast<float>(values.Bias(column));
}

constexpr int kCheckTile = 64;   // Side of a block's tile of y.
constexpr int kCheckDepth = 16;  // Columns of x per step.
constexpr int kCheckSide = 16;   // Threads per side; each computes kCheckPer x kCheckPer elements.
constexpr int kCheckPer = kCheckTile / kCheckSide;

// Computes one tile of y per block in fp64 and compares it with the result. The grid is (tiles of
// columns) x (tiles of rows). `row_sums` holds two sums per row, from RowSumsKernel.
template <typename T>
__global__ void __launch_bounds__(kCheckSide* kCheckSide)
    CompareLinearKernel(LinearValues<T> values, const double* row_sums, const T* y,
                        ErrorLimits limits, ErrorSums* errors) {
  __shared__ double tile_x[kCheckDepth][kCheckTile + 1];
  __shared__ double tile_w[kCheckDepth][kCheckTile + 1];
  const RowValues<T>& x = values.x;
  const int64_t row0 = int64_t{blockIdx.y} * kCheckTile;
  const int64_t column0 = int64_t{blockIdx.x} * kCheckTile;
  const int thread = static_cast<int>(threadIdx.y * kCheckSide + threadIdx.x);
  double sum[kCheckPer][kCheckPer] = {};
  for (int64_t k0 = 0; k0 < x.columns; k0 += kCheckDepth) {
    for (int slot = thread; slot < kCheckTile * kCheckDepth; slot += kCheckSide * kCheckSide) {
      const int64_t row = row0 + slot / kCheckDepth;
      const int64_t kx = k0 + slot % kCheckDepth;
      const bool in_x = row < x.rows && kx < x.columns;
      tile_x[slot % kCheckDepth][slot / kCheckDepth] =
          in_x ? x.template Reference<LayerNormOp>(row, kx, row_sums + 2 * row) : 0;
      const int64_t column = column0 + slot % kCheckTile;
      const int64_t kw = k0 + slot / kCheckTile;
      const bool in_w = column < values.outputs && kw < x.columns;
      tile_w[slot / kCheckTile][slot % kCheckTile] = in_w ? values.Weight(kw, column) : 0;
    }
    __syncthreads();
    for (int step = 0; step < kCheckDepth; ++step) {
      double left[kCheckPer];
      double right[kCheckPer];
#pragma unroll
      for (int i = 0; i < kCheckPer; ++i) {
        left[i] = tile_x[step][threadIdx.y + i * kCheckSide];
        right[i] = tile_w[step][threadIdx.x + i * kCheckSide];
      }
#pragma unroll
      for (int i = 0; i < kCheckPer; ++i) {
#pragma unroll
        for (int j = 0; j < kCheckPer; ++j) sum[i][j] += left[i] * right[j];
      }
    }
    __syncthreads();
  }
  ErrorThread found(limits, errors);
#pragma unroll
  for (int i = 0; i < kCheckPer; ++i) {
#pragma unroll
    for (int j = 0; j < kCheckPer; ++j) {
      const int64_t row = row0 + threadIdx.y + i * kCheckSide;
      const int64_t column = column0 + threadIdx.x + j * kCheckSide;
      if (row >= x.rows || column >= values.outputs) continue;
      const int64_t at = row * values.outputs + column;
      found.Add(at, Widen(y[at]), sum[i][j] + values.Bias(column));
    }
  }
  found.Flush();
}

// Compares `elements` elements of row `row` on the host and fails `verdict` if one is wrong.
template <typename T>
Status CompareLinearOnHost(const LinearValues<T>& values, const T* y, int64_t row, int64_t elements,
                           const ErrorLimits& limits, Verdict* verdict) {
  const int64_t columns = values.x.columns;
  const int64_t outputs = values.outputs;
  std::vector<T> actual(static_cast<size_t>(outputs));
  ASSAY_CUDA(
      cudaMemcpy(actual.data(), y + row * outputs, actual.size() * sizeof(T), cudaMemcpyDefault));
  double sums[2] = {};
  for (int64_t i = 0; i < columns; ++i) {
    LayerNormOp::AddToSums(values.x.Input(row * columns + i), sums);
  }
  std::vector<double> normalized;
  for (int64_t i = 0; i < columns; ++i) {
    normalized.push_back(values.x.template Reference<LayerNormOp>(row, i, sums));
  }
  for (int64_t i = 0; i < elements && verdict->passed; ++i) {
    const int64_t column = elements > 1 ? i * (outputs - 1) / (elements - 1) : 0;
    double reference = values.Bias(column);
    for (int64_t k = 0; k < columns; ++k) {
      reference += normalized[static_cast<size_t>(k)] * values.Weight(k, column);
    }
    const double value = Widen(actual[static_cast<size_t>(column)]);
    // Negated, so that NaN fails.
    if (!(std::fabs(value - reference) <=
          limits.element * std::max(std::fabs(reference), limits.typical))) {
      verdict->passed = false;
      verdict->detail = "element (" + std::to_string(row) + ", " + std::to_string(column) +
                        ") is " + NumberText(value, 9) + ", should be " + NumberText(reference, 9) +
                        " as the host computes it";
    }
  }
  return Status::Ok();
}

// Compares every element of y on the device, and some on the host. Synchronizes with `stream`.
template <typename T>
Result<Verdict> CheckLinear(const LinearValues<T>& values, const T* y, const ErrorLimits& limits,
                            cudaStream_t stream) {
  const int64_t rows = values.x.rows;
  const int64_t outputs = values.outputs;
  const int64_t sums_bytes = 2 * rows * static_cast<int64_t>(sizeof(double));
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer sums,
                         DeviceBuffer::Allocate(sums_bytes, "the check's sums of rows"));
  ASSAY_CUDA(cudaMemsetAsync(sums.data(), 0, static_cast<size_t>(sums_bytes), stream));
  RowSumsKernel<LayerNormOp, T><<<1024, 256, 0, stream>>>(values.x, 0, rows, sums.as<double>());
  ASSAY_CUDA(cudaGetLastError());
  ASSAY_ASSIGN_OR_RETURN(const ErrorAccumulator errors, ErrorAccumulator::Create(stream));
  const dim3 grid(static_cast<unsigned>((outputs + kCheckTile - 1) / kCheckTile),
                  static_cast<unsigned>((rows + kCheckTile - 1) / kCheckTile));
  CompareLinearKernel<T><<<grid, dim3(kCheckSide, kCheckSide), 0, stream>>>(
      values, sums.as<double>(), y, limits, errors.device());
  ASSAY_CUDA(cudaGetLastError());
  constexpr int64_t kHostRows = 4;
  constexpr int64_t kHostElements = 64;
  const int64_t host_rows = std::min(rows, kHostRows);
  const int64_t host_elements = std::min(outputs, kHostElements);
  ASSAY_ASSIGN_OR_RETURN(
      Verdict verdict,
      errors.Read(rows * outputs, limits,
                  "fp64 on device, every element; fp64 on host, " + std::to_string(host_rows) +
                      " x " + std::to_string(host_elements) + " elements",
                  stream));
  for (int64_t i = 0; i < host_rows && verdict.passed; ++i) {
    const int64_t row = host_rows > 1 ? i * (rows - 1) / (host_rows - 1) : 0;
    ASSAY_RETURN_IF_ERROR(CompareLinearOnHost(values, y, row, host_elements, limits, &verdict));
  }
  return verdict;
}

enum class Variant { kFused, kUnfused, kLibrary };

Variant VariantOf(const ParameterMap& parameters) {
  const std::string& name = Word(parameters, "variant");
  if (name == "fused") return Variant::kFused;
  return name == "unfused" ? Variant::kUnfused : Variant::kLibrary;
}

template <typename T>
class LayerNormLinearCase : public GpuCase {
 public:
  explicit LayerNormLinearCase(const RunContext& context)
      : GpuCase(context),
        variant_(VariantOf(context.parameters)),
        rows_(Integer(context.parameters, "rows")),
        columns_(Integer(context.parameters, "columns")),
        outputs_(Integer(context.parameters, "outputs")),
        statistics_program_(StatisticsProgram<T>::For(columns_)) {}

  void AdjustRule(MeasureRule* rule) const override { AdjustRuleForLoad(Shape().Flops(), rule); }

 protected:
  Status SetUp() override {
    ASSAY_RETURN_IF_ERROR(PrepareKernels());
    y_ = AddArray(rows_ * outputs_ * kElementBytes);
    x_ = AddArray(rows_ * columns_ * kElementBytes);
    matrix_ = AddArray(columns_ * outputs_ * kElementBytes);
    if (variant_ == Variant::kFused) {
      statistics_ = AddArray(rows_ * static_cast<int64_t>(sizeof(RowStatistics)));
      sums_ = AddArray(outputs_ * kFloatBytes);
    } else {
      normalized_ = AddArray(rows_ * columns_ * kElementBytes);
      gamma_ = AddArray(columns_ * kElementBytes);
      beta_ = AddArray(columns_ * kElementBytes);
    }
    if (variant_ != Variant::kLibrary) bias_ = AddArray(outputs_ * kFloatBytes);
    ASSAY_RETURN_IF_ERROR(AllocateSets("x, W and y of " + std::to_string(rows_) + " x " +
                                       std::to_string(columns_) + " x " +
                                       std::to_string(outputs_)));
    for (int64_t set = 0; set < sets(); ++set) {
      ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, x_), rows_ * columns_, zeros(), seed(),
                                         kRowStreamInput, set * rows_ * columns_, stream()));
      ASSAY_RETURN_IF_ERROR(variant_ == Variant::kFused ? FoldWeights(set) : FillWeights(set));
    }
    return variant_ == Variant::kLibrary ? Tune() : Status::Ok();
  }

  Status Enqueue(int64_t set) override {
    if (variant_ == Variant::kFused) return EnqueueFused(set);
    ASSAY_RETURN_IF_ERROR(EnqueueNormalization(set));
    if (variant_ == Variant::kLibrary) return library_->Enqueue(OperandsOf(set), stream());
    return unfused_.Enqueue(Array<T>(set, normalized_), Array<T>(set, matrix_), Array<T>(set, y_),
                            static_cast<int>(rows_), static_cast<int>(outputs_),
                            static_cast<int>(columns_), {Array<float>(set, bias_)}, stream());
  }

  OutputRange Output(int64_t set) override {
    return {Array<void>(set, y_), rows_ * outputs_ * kElementBytes};
  }

  // Allows sqrt(2) times the error of a matrix product. A product rounds only y to T; here, one
  // operand (LN(x) or W') is also rounded. The errors are independent, so their squares add up.
  Result<Verdict> Check(int64_t set) override {
    ErrorLimits limits;
    limits.tolerance = std::sqrt(2.0) * GemmTolerance(Shape());
    limits.element = 8 * limits.tolerance;
    // The elements of LN(x) have variance 2, because gamma and beta have variance 1. If x is 0,
    // LN(x) is beta and has variance 1.
    limits.typical = std::sqrt((zeros() ? 1.0 : 2.0) * static_cast<double>(columns_));
    return CheckLinear(ValuesOf(set), Array<T>(set, y_), limits, stream());
  }

 private:
  static constexpr int64_t kElementBytes = sizeof(T);
  static constexpr int64_t kFloatBytes = sizeof(float);
  static constexpr int kFillThreads = 128;

  GemmShape Shape() const {
    GemmShape shape;
    shape.type = std::is_same_v<T, __half> ? GemmType::kFp16 : GemmType::kBf16;
    shape.m = rows_;
    shape.n = outputs_;
    shape.k = columns_;
    return shape;
  }

  LinearValues<T> ValuesOf(int64_t set) const {
    LinearValues<T> values;
    values.x = {seed(), set * rows_ * columns_, zeros(), rows_, columns_};
    values.outputs = outputs_;
    values.first = set * columns_ * outputs_;
    return values;
  }

  GemmOperands OperandsOf(int64_t set) const {
    return {Array<void>(set, normalized_), Array<void>(set, matrix_), Array<void>(set, y_)};
  }

  // Must precede AllocateSets, so that cuBLASLt's workspace is not counted as memory for matrices.
  Status PrepareKernels() {
    if (variant_ == Variant::kFused) return fused_.Prepare(device(), "layernorm_linear");
    ASSAY_RETURN_IF_ERROR(program_.Plan(rows_, columns_, device().compute_major >= 9));
    if (variant_ == Variant::kUnfused) return unfused_.Prepare(device(), "layernorm_linear");
    if (const std::string why = WhyNoCublasLt(); !why.empty()) return Unsupported(why);
    ASSAY_ASSIGN_OR_RETURN(library_bias_, DeviceBuffer::Allocate(outputs_ * kElementBytes, "b"));
    ASSAY_RETURN_IF_ERROR(
        FillElements(library_bias_.as<T>(), outputs_, false, seed(), kStreamBias, 0, stream()));
    ASSAY_ASSIGN_OR_RETURN(library_, LtGemm::Create(Shape(), library_bias_.data()));
    return Status::Ok();
  }

  unsigned FillBlocks() const {
    return static_cast<unsigned>((outputs_ + kFillThreads - 1) / kFillThreads);
  }

  Status FoldWeights(int64_t set) {
    FoldKernel<T><<<FillBlocks(), kFillThreads, 0, stream()>>>(
        ValuesOf(set), Array<T>(set, matrix_), Array<float>(set, sums_), Array<float>(set, bias_));
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  Status FillWeights(int64_t set) {
    ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, matrix_), columns_ * outputs_, false, seed(),
                                       kStreamMatrix, set * columns_ * outputs_, stream()));
    ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, gamma_), columns_, false, seed(),
                                       kRowStreamWeights, 0, stream()));
    ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, beta_), columns_, false, seed(),
                                       kRowStreamWeights + 1, 0, stream()));
    if (variant_ == Variant::kLibrary) return Status::Ok();
    FillBiasKernel<T>
        <<<FillBlocks(), kFillThreads, 0, stream()>>>(ValuesOf(set), Array<float>(set, bias_));
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  // Chooses the fastest of cuBLASLt's algorithms by timing them on normalized rows.
  Status Tune() {
    for (int64_t set = 0; set < sets(); ++set) ASSAY_RETURN_IF_ERROR(EnqueueNormalization(set));
    int64_t set = 0;
    return library_
        ->Tune([&] { return OperandsOf(set++ % sets()); }, cold() ? "cold" : "hot", stream())
        .status();
  }

  Status EnqueueNormalization(int64_t set) {
    RowArgs<T> args;
    args.in = Array<T>(set, x_);
    args.out = Array<T>(set, normalized_);
    args.weights[0] = Array<T>(set, gamma_);
    args.weights[1] = Array<T>(set, beta_);
    args.rows = rows_;
    args.columns = columns_;
    return program_.Enqueue(args, nullptr, stream());  // No chunks, no workspace.
  }

  Status EnqueueFused(int64_t set) {
    auto* const statistics = Array<RowStatistics>(set, statistics_);
    const int64_t blocks = (rows_ + statistics_program_.rows - 1) / statistics_program_.rows;
    statistics_program_.kernel<<<static_cast<unsigned>(blocks),
                                 static_cast<unsigned>(statistics_program_.threads), 0, stream()>>>(
        Array<T>(set, x_), rows_, static_cast<int>(columns_), statistics);
    ASSAY_CUDA(cudaGetLastError());
    return fused_.Enqueue(
        Array<T>(set, x_), Array<T>(set, matrix_), Array<T>(set, y_), static_cast<int>(rows_),
        static_cast<int>(outputs_), static_cast<int>(columns_),
        {statistics, Array<float>(set, sums_), Array<float>(set, bias_)}, stream());
  }

  const Variant variant_;
  const int64_t rows_;
  const int64_t columns_;
  const int64_t outputs_;
  const StatisticsProgram<T> statistics_program_;
  RowProgram<LayerNormOp, T> program_;
  mma::Product<T, NormalizingEpilogue> fused_;
  mma::Product<T, BiasEpilogue> unfused_;
  DeviceBuffer library_bias_;
  std::unique_ptr<LtGemm> library_;
  int y_ = 0;  // Indices of the arrays.
  int x_ = 0;
  int matrix_ = 0;  // W, or W' if fused.
  int statistics_ = 0;
  int sums_ = 0;
  int normalized_ = 0;
  int gamma_ = 0;
  int beta_ = 0;
  int bias_ = 0;  // b in fp32, or b' if fused.
};

}  // namespace

Result<std::unique_ptr<Case>> NewLayerNormLinearCase(const RunContext& context) {
  if (Word(context.parameters, "dtype") == "fp16") {
    return PrepareCase<LayerNormLinearCase<__half>>(context);
  }
  return PrepareCase<LayerNormLinearCase<__nv_bfloat16>>(context);
}

}  // namespace assay
