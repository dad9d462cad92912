#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/gemm_check.cuh"
#include "kernels/cuda/gemm_data.h"
#include "kernels/cuda/gemm_values.cuh"

namespace assay {
namespace {

constexpr double kMaxFullFlops = 2.5e12;
constexpr double kElementFactor = 8;

template <typename T>
__global__ void FillKernel(GemmInputs inputs, uint64_t stream, int64_t count, T* out) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = InputValue<T>(inputs, stream, i);
  }
}

unsigned BlocksFor(int64_t threads_wanted, int64_t threads) {
  return static_cast<unsigned>(std::clamp<int64_t>((threads_wanted + threads - 1) / threads, 1,
                                                   std::numeric_limits<int>::max()));
}

template <typename T>
Status Fill(const GemmShape& shape, const GemmInputs& inputs, int64_t sets, void* a, void* b,
            cudaStream_t stream) {
  const int64_t count_a = (sets - 1) * inputs.stride_a + shape.m * shape.k;
  const int64_t count_b = (sets - 1) * inputs.stride_b + shape.k * shape.n;
  constexpr unsigned kBlocks = 4096;
  FillKernel<T><<<kBlocks, 256, 0, stream>>>(inputs, kStreamA, count_a, static_cast<T*>(a));
  ASSAY_CUDA(cudaGetLastError());
  FillKernel<T><<<kBlocks, 256, 0, stream>>>(inputs, kStreamB, count_b, static_cast<T*>(b));
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

Result<Tally> ReadTally(const DeviceBuffer& buffer, cudaStream_t stream) {
  Tally tally;
  ASSAY_CUDA(cudaMemcpyAsync(&tally, buffer.data(), sizeof tally, cudaMemcpyDefault, stream));
  ASSAY_CUDA(cudaStreamSynchronize(stream));
  return tally;
}

// One output's check: its pieces add to one verdict.
template <typename T>
class Checker {
 public:
  Checker(const GemmShape& shape, const GemmInputs& inputs, int64_t set,
          const GemmOperands& operands, cudaStream_t stream)
      : shape_(shape),
        inputs_(inputs),
        set_(set),
        a_(static_cast<const T*>(operands.a)),
        b_(static_cast<const T*>(operands.b)),
        d_(static_cast<const T*>(operands.d)),
        stream_(stream) {
    verdict_.tolerance = GemmTolerance(shape);
    verdict_.elements_checked = shape.m * shape.n;
    // Of the reference, for inputs of variance 1.
    typical_ = inputs.zeros ? 0 : std::sqrt(static_cast<double>(shape.k));
  }

  Result<Verdict> Check() {
    ASSAY_ASSIGN_OR_RETURN(tally_, DeviceBuffer::Allocate(sizeof(Tally), "the check's sums"));
    const Tally zero;
    ASSAY_CUDA(cudaMemcpyAsync(tally_.data(), &zero, sizeof zero, cudaMemcpyDefault, stream_));
    verdict_.passed = true;
    ASSAY_RETURN_IF_ERROR(shape_.Flops() <= kMaxFullFlops ? CompareElements() : CompareRows());
    ASSAY_RETURN_IF_ERROR(CompareSamples());
    return verdict_;
  }

 private:
  Status CompareElements() {
    const dim3 grid(BlocksFor(shape_.n, kTile), BlocksFor(shape_.m, kTile));
    CompareKernel<T><<<grid, dim3(kSide, kSide), 0, stream_>>>(
        shape_, a_, b_, d_, kElementFactor * verdict_.tolerance, typical_, tally_.as<Tally>());
    ASSAY_CUDA(cudaGetLastError());
    ASSAY_ASSIGN_OR_RETURN(const Tally tally, ReadTally(tally_, stream_));
    verdict_.reference = "fp64 on device, every element";
    Add(std::sqrt(tally.error_squared), std::sqrt(tally.reference_squared));
    if (tally.first_bad != kNone) {
      const auto at = static_cast<int64_t>(tally.first_bad);
      Fail("element (" + std::to_string(at / shape_.n) + ", " + std::to_string(at % shape_.n) +
           ") of D is wrong");
    }
    return Status::Ok();
  }

  Status CompareRows() {
    const auto vector = [](int64_t length) {
      return DeviceBuffer::Allocate(length * static_cast<int64_t>(sizeof(double)),
                                    "a vector of the check");
    };
    ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer bs, vector(shape_.k));
    ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer abs, vector(shape_.m));
    ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer ds, vector(shape_.m));
    ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer squares, vector(shape_.m));
    ASSAY_RETURN_IF_ERROR(
        Product(b_, shape_.b_transposed, shape_.k, shape_.n, nullptr, bs.as<double>()));
    ASSAY_RETURN_IF_ERROR(
        Product(a_, shape_.a_transposed, shape_.m, shape_.k, bs.as<double>(), abs.as<double>()));
    RowProductKernel<T><<<BlocksFor(shape_.m * 32, 256), 256, 0, stream_>>>(
        d_, shape_.m, shape_.n, nullptr, inputs_.seed, ds.as<double>(), squares.as<double>());
    ASSAY_CUDA(cudaGetLastError());
    CompareRowsKernel<<<64, 256, 0, stream_>>>(ds.as<double>(), abs.as<double>(),
                                               squares.as<double>(), shape_.m, verdict_.tolerance,
                                               tally_.as<Tally>());
    ASSAY_CUDA(cudaGetLastError());
    ASSAY_ASSIGN_OR_RETURN(const Tally tally, ReadTally(tally_, stream_));
    verdict_.reference = "fp64 on device, every row by Freivalds' method";
    Add(std::sqrt(tally.error_squared), std::sqrt(tally.reference_squared));
    if (tally.first_bad != kNone) {
      Fail("row " + std::to_string(tally.first_bad) + " of D is wrong");
    }
    return Status::Ok();
  }

  // y = op(M) x, op(M) being rows x columns.
  Status Product(const T* matrix, bool transposed, int64_t rows, int64_t columns, const double* x,
                 double* y) {
    if (transposed) {
      ASSAY_CUDA(cudaMemsetAsync(y, 0, static_cast<size_t>(rows) * sizeof(double), stream_));
      const dim3 grid(BlocksFor(rows, 256), 64);
      ColumnProductKernel<T><<<grid, 256, 0, stream_>>>(matrix, columns, rows, x, inputs_.seed, y);
    } else {
      RowProductKernel<T><<<BlocksFor(rows * 32, 256), 256, 0, stream_>>>(matrix, rows, columns, x,
                                                                          inputs_.seed, y, nullptr);
    }
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  static std::vector<int64_t> Spread(int64_t size, int64_t count) {
    count = std::min(size, count);
    std::vector<int64_t> indices;
    for (int64_t i = 0; i < count; ++i) {
      indices.push_back(count > 1 ? i * (size - 1) / (count - 1) : 0);
    }
    return indices;
  }

  Result<std::vector<double>> GatherSamples(const std::vector<int64_t>& rows,
                                            const std::vector<int64_t>& columns) {
    std::vector<int64_t> both = rows;
    both.insert(both.end(), columns.begin(), columns.end());
    std::vector<double> samples(rows.size() * columns.size());
    ASSAY_ASSIGN_OR_RETURN(
        const DeviceBuffer indices,
        DeviceBuffer::Allocate(static_cast<int64_t>(both.size() * sizeof(int64_t)), "indices"));
    ASSAY_ASSIGN_OR_RETURN(
        const DeviceBuffer out,
        DeviceBuffer::Allocate(static_cast<int64_t>(samples.size() * sizeof(double)), "samples"));
    ASSAY_CUDA(cudaMemcpyAsync(indices.data(), both.data(), both.size() * sizeof(int64_t),
                               cudaMemcpyDefault, stream_));
    GatherKernel<T>
        <<<static_cast<unsigned>(rows.size()), static_cast<unsigned>(columns.size()), 0, stream_>>>(
            d_, shape_.n, indices.as<int64_t>(), indices.as<int64_t>() + rows.size(),
            static_cast<int>(columns.size()), out.as<double>());
    ASSAY_CUDA(cudaGetLastError());
    ASSAY_CUDA(cudaMemcpyAsync(samples.data(), out.data(), samples.size() * sizeof(double),
                               cudaMemcpyDefault, stream_));
    ASSAY_CUDA(cudaStreamSynchronize(stream_));
    return samples;
  }

  // `count` vectors of length k: rows of op(A) or columns of op(B), by `indices`.
  std::vector<double> Regenerate(uint64_t stream, const std::vector<int64_t>& indices,
                                 int64_t vector_stride, int64_t element_stride) const {
    const int64_t offset = set_ * (stream == kStreamA ? inputs_.stride_a : inputs_.stride_b);
    std::vector<double> values;
    values.reserve(indices.size() * static_cast<size_t>(shape_.k));
    for (const int64_t index : indices) {
      for (int64_t k = 0; k < shape_.k; ++k) {
        values.push_back(Widen(
            InputValue<T>(inputs_, stream, offset + index * vector_stride + k * element_stride)));
      }
    }
    return values;
  }

  Status CompareSamples() {
    // A few hundred million multiplications at most.
    const int64_t side = std::clamp<int64_t>(
        static_cast<int64_t>(std::sqrt(1e8 / static_cast<double>(shape_.k))), 4, 64);
    const std::vector<int64_t> rows = Spread(shape_.m, side);
    const std::vector<int64_t> columns = Spread(shape_.n, side);
    ASSAY_ASSIGN_OR_RETURN(const std::vector<double> samples, GatherSamples(rows, columns));
    const std::vector<double> a = shape_.a_transposed ? Regenerate(kStreamA, rows, 1, shape_.m)
                                                      : Regenerate(kStreamA, rows, shape_.k, 1);
    const std::vector<double> b = shape_.b_transposed ? Regenerate(kStreamB, columns, shape_.k, 1)
                                                      : Regenerate(kStreamB, columns, 1, shape_.n);
    double error_squared = 0;
    double reference_squared = 0;
    const auto k = static_cast<size_t>(shape_.k);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t j = 0; j < columns.size(); ++j) {
        double reference = 0;
        for (size_t l = 0; l < k; ++l) reference += a[i * k + l] * b[j * k + l];
        const double actual = samples[i * columns.size() + j];
        const double error = std::fabs(actual - reference);
        const double bound =
            kElementFactor * verdict_.tolerance * std::max(std::fabs(reference), typical_);
        if (!(error <= bound)) {
          Fail("element (" + std::to_string(rows[i]) + ", " + std::to_string(columns[j]) +
               ") of D is " + std::to_string(actual) + ", should be " + std::to_string(reference));
        }
        error_squared += error * error;
        reference_squared += reference * reference;
      }
    }
    verdict_.reference += "; fp64 on host, " + std::to_string(rows.size()) + " x " +
                          std::to_string(columns.size()) + " elements";
    Add(std::sqrt(error_squared), std::sqrt(reference_squared));
    return Status::Ok();
  }

  void Add(double error, double reference) {
    const double relative = error == 0 ? 0 : error / reference;
    // In this order NaN stays.
    if (!(relative <= verdict_.error)) verdict_.error = relative;
    if (!(relative <= verdict_.tolerance)) {
      Fail("||D - ref|| / ||ref|| is " + std::to_string(relative));
    }
  }

  void Fail(std::string why) {
    verdict_.passed = false;
    if (verdict_.detail.empty()) verdict_.detail = std::move(why);
  }

  const GemmShape shape_;
  const GemmInputs inputs_;
  const int64_t set_;
  const T* const a_;
  const T* const b_;
  const T* const d_;
  const cudaStream_t stream_;
  double typical_ = 0;
  DeviceBuffer tally_;
  Verdict verdict_;
};

}  // namespace

double GemmTolerance(const GemmShape& shape) {
  const double accumulator = std::ldexp(1.0, -23) * std::sqrt(static_cast<double>(shape.k));
  switch (shape.type) {
    case GemmType::kFp32:
      return std::ldexp(1.0, -22) + accumulator;
    case GemmType::kTf32:
      return 2e-3 + accumulator;  // Operands keep 10 bits, rounded or cut.
    case GemmType::kBf16:
      return 4e-3 + accumulator;  // 2^-8, half an ulp of D.
    case GemmType::kFp16:
      return 5e-4 + accumulator;  // 2^-11, half an ulp of D.
  }
  return 0;
}

Status FillGemmInputs(const GemmShape& shape, const GemmInputs& inputs, int64_t sets, void* a,
                      void* b, cudaStream_t stream) {
  switch (shape.type) {
    case GemmType::kBf16:
      return Fill<__nv_bfloat16>(shape, inputs, sets, a, b, stream);
    case GemmType::kFp16:
      return Fill<__half>(shape, inputs, sets, a, b, stream);
    case GemmType::kFp32:
    case GemmType::kTf32:
      return Fill<float>(shape, inputs, sets, a, b, stream);
  }
  return Status::Ok();
}

Result<Verdict> CheckGemm(const GemmShape& shape, const GemmInputs& inputs, int64_t set,
                          const GemmOperands& operands, cudaStream_t stream) {
  switch (shape.type) {
    case GemmType::kBf16:
      return Checker<__nv_bfloat16>(shape, inputs, set, operands, stream).Check();
    case GemmType::kFp16:
      return Checker<__half>(shape, inputs, set, operands, stream).Check();
    case GemmType::kFp32:
    case GemmType::kTf32:
      return Checker<float>(shape, inputs, set, operands, stream).Check();
  }
  return Internal("not a GEMM type");
}

}  // namespace assay
