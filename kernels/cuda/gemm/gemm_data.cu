#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "common/units.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/error_sums.cuh"
#include "kernels/cuda/gemm/gemm_data.h"
#include "kernels/cuda/gemm/gemm_shape.h"
#include "kernels/cuda/gemm/gemm_values.cuh"

namespace assay {
namespace {

constexpr double kMaxFullFlops = 2.5e12;
constexpr double kElementFactor = 8;
// Limit of the error of a sum in Freivalds' method, in multiples of the tolerance.
constexpr double kRowFactor = 6;
// The maximum number of columns of D that Freivalds' method adds up for one comparison. More
// columns make the check less sensitive, because a wrong element is noticed only if its error
// exceeds the rounding errors of all the others. In bf16, the error must exceed half of the
// element's size with 512 columns, but three times its size with 16384 columns.
constexpr int64_t kSliceColumns = 512;
// Number of products of a batch that the host checks.
constexpr int64_t kSampledProducts = 3;

// The types of A, B and D.
template <typename A_, typename B_ = A_, typename D_ = A_>
struct GemmTypes {
  using A = A_;
  using B = B_;
  using D = D_;
};

constexpr uint64_t kStreamSigns = 3;

constexpr int kTile = 64;   // Side of a block's tile of D.
constexpr int kDepth = 16;  // Depth of k per step.
constexpr int kSide = 16;   // Threads per side; each computes kPer x kPer elements.
constexpr int kPer = kTile / kSide;

// Computes one tile of the reference product per block in fp64 and compares it with D without
// storing it. The grid is (tiles of columns) x (tiles of rows) x batch.
template <typename A, typename B, typename D>
__global__ void __launch_bounds__(kSide* kSide)
    CompareKernel(GemmShape shape, const A* a, const B* b, const D* d, ErrorLimits limits,
                  ErrorSums* sums) {
  __shared__ double tile_a[kDepth][kTile + 1];
  __shared__ double tile_b[kDepth][kTile + 1];
  a += blockIdx.z * shape.m * shape.k;
  b += blockIdx.z * shape.k * shape.n;
  const int64_t row0 = int64_t{blockIdx.y} * kTile;
  const int64_t column0 = int64_t{blockIdx.x} * kTile;
  const int thread = threadIdx.y * kSide + threadIdx.x;
  double sum[kPer][kPer] = {};
  for (int64_t k0 = 0; k0 < shape.k; k0 += kDepth) {
    for (int slot = thread; slot < kTile * kDepth; slot += kSide * kSide) {
      // Neighboring threads read neighboring addresses in both storage orders.
      const int64_t row = row0 + (shape.a_transposed ? slot % kTile : slot / kDepth);
      const int64_t ka = k0 + (shape.a_transposed ? slot / kTile : slot % kDepth);
      const bool in_a = row < shape.m && ka < shape.k;
      const int64_t at_a = shape.a_transposed ? ka * shape.m + row : row * shape.k + ka;
      tile_a[ka - k0][row - row0] = in_a ? Widen(a[at_a]) : 0;
      const int64_t column = column0 + (shape.b_transposed ? slot / kDepth : slot % kTile);
      const int64_t kb = k0 + (shape.b_transposed ? slot % kDepth : slot / kTile);
      const bool in_b = column < shape.n && kb < shape.k;
      const int64_t at_b = shape.b_transposed ? column * shape.k + kb : kb * shape.n + column;
      tile_b[kb - k0][column - column0] = in_b ? Widen(b[at_b]) : 0;
    }
    __syncthreads();
    for (int step = 0; step < kDepth; ++step) {
      double left[kPer];
      double right[kPer];
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
        left[i] = tile_a[step][threadIdx.y + i * kSide];
        right[i] = tile_b[step][threadIdx.x + i * kSide];
      }
#pragma unroll
      for (int i = 0; i < kPer; ++i) {
#pragma unroll
        for (int j = 0; j < kPer; ++j) sum[i][j] += left[i] * right[j];
      }
    }
    __syncthreads();
  }
  ErrorThread errors(limits, sums);
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
#pragma unroll
    for (int j = 0; j < kPer; ++j) {
      const int64_t row = row0 + threadIdx.y + i * kSide;
      const int64_t column = column0 + threadIdx.x + j * kSide;
      if (row >= shape.m || column >= shape.n) continue;
      const int64_t at = (blockIdx.z * shape.m + row) * shape.n + column;
      errors.Add(at, Widen(d[at]), sum[i][j]);
    }
  }
  errors.Flush();
}

__device__ inline double Sign(uint64_t seed, int64_t index) {
  return RandomBits(seed, kStreamSigns, static_cast<uint64_t>(index)) & 1 ? 1.0 : -1.0;
}

// Computes the matrix-vector product y = M x with one warp per row of M, a row-major rows x columns
// matrix whose rows are `stride` elements apart. If x is null, uses a vector of random signs.
template <typename T>
__global__ void RowProductKernel(const T* matrix, int64_t rows, int64_t columns, int64_t stride,
                                 const double* x, uint64_t seed, double* y) {
  const int64_t row = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  double sum = 0;
  for (int64_t column = threadIdx.x % 32; column < columns; column += 32) {
    sum += Widen(matrix[row * stride + column]) * (x != nullptr ? x[column] : Sign(seed, column));
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
  if (threadIdx.x % 32 == 0) y[row] = sum;
}

// Computes y += M' x with one thread per column of M, where M' is the transpose of M. M is a
// row-major rows x columns matrix whose rows are `stride` elements apart. Each row of the grid
// handles some of M's rows. If x is null, uses a vector of random signs.
template <typename T>
__global__ void ColumnProductKernel(const T* matrix, int64_t rows, int64_t columns, int64_t stride,
                                    const double* x, uint64_t seed, double* y) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  double sum = 0;
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
    sum += Widen(matrix[row * stride + column]) * (x != nullptr ? x[row] : Sign(seed, row));
  }
  atomicAdd(&y[column], sum);
}

// Element i of a vector in device memory.
struct VectorElement {
  const double* data;
  __device__ double operator()(int64_t i) const { return data[i]; }
};

template <typename T>
__global__ void GatherKernel(const T* d, int64_t n, const int64_t* rows, const int64_t* columns,
                             int count, double* out) {
  out[blockIdx.x * count + threadIdx.x] = Widen(d[rows[blockIdx.x] * n + columns[threadIdx.x]]);
}

// Calls `body` with the GemmTypes of `type`.
template <typename Body>
auto WithGemmTypes(GemmType type, const Body& body) {
  switch (type) {
    case GemmType::kBf16:
      return body(GemmTypes<__nv_bfloat16>());
    case GemmType::kFp16:
      return body(GemmTypes<__half>());
    case GemmType::kFp64:
      return body(GemmTypes<double>());
    case GemmType::kFp8E4m3:
      return body(GemmTypes<__nv_fp8_e4m3, __nv_fp8_e4m3, __nv_bfloat16>());
    case GemmType::kFp8E5m2:
      return body(GemmTypes<__nv_fp8_e5m2, __nv_fp8_e4m3, __nv_bfloat16>());
    case GemmType::kInt8:
      return body(GemmTypes<int8_t, int8_t, int32_t>());
    case GemmType::kFp32:
    case GemmType::kTf32:
      break;
  }
  return body(GemmTypes<float>());
}

template <typename T>
__global__ void FillKernel(GemmInputs inputs, uint64_t stream, int64_t first, int64_t count,
                           T* out) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = InputValue<T>(inputs, stream, first + i);
  }
}

unsigned BlocksFor(int64_t threads_wanted, int64_t threads) {
  return static_cast<unsigned>(std::clamp<int64_t>((threads_wanted + threads - 1) / threads, 1,
                                                   std::numeric_limits<int>::max()));
}

template <typename T>
Status Fill(const GemmInputs& inputs, uint64_t sequence, int64_t first, int64_t count, void* out,
            cudaStream_t stream) {
  const unsigned blocks = std::min(BlocksFor(count, 256), 4096U);
  FillKernel<T><<<blocks, 256, 0, stream>>>(inputs, sequence, first, count, static_cast<T*>(out));
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

std::vector<int64_t> Spread(int64_t size, int64_t count) {
  count = std::min(size, count);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < count; ++i) {
    indices.push_back(count > 1 ? i * (size - 1) / (count - 1) : 0);
  }
  return indices;
}

// The check of one output; its pieces add up to one verdict.
template <typename Types>
class Checker {
 public:
  using A = typename Types::A;
  using B = typename Types::B;
  using D = typename Types::D;

  Checker(const GemmShape& shape, const GemmInputs& inputs, int64_t set,
          const GemmOperands& operands, cudaStream_t stream)
      : shape_(shape),
        inputs_(inputs),
        set_(set),
        a_(static_cast<const A*>(operands.a)),
        b_(static_cast<const B*>(operands.b)),
        d_(static_cast<const D*>(operands.d)),
        stream_(stream) {
    limits_.tolerance = GemmTolerance(shape);
    limits_.element = kElementFactor * limits_.tolerance;
    // Typical size of an element of D, for inputs of this variance.
    const double variance =
        shape.type == GemmType::kInt8 ? double{kInt8Deviation} * kInt8Deviation : 1;
    limits_.typical = inputs.zeros ? 0 : variance * std::sqrt(static_cast<double>(shape.k));
  }

  Result<Verdict> Check() {
    verdict_.passed = true;
    verdict_.tolerance = limits_.tolerance;
    verdict_.elements_checked = shape_.batch * shape_.m * shape_.n;
    if (shape_.Flops() <= kMaxFullFlops) {
      ASSAY_RETURN_IF_ERROR(CompareElements());
    } else {
      verdict_.reference = "fp64 on device, every row, by slices, by Freivalds' method";
      for (int64_t product = 0; product < shape_.batch; ++product) {
        ASSAY_RETURN_IF_ERROR(CompareRows(product));
      }
    }
    ASSAY_RETURN_IF_ERROR(CompareSamples());
    return verdict_;
  }

 private:
  Status CompareElements() {
    const std::string reference = "fp64 on device, every element";
    ASSAY_ASSIGN_OR_RETURN(const ErrorAccumulator sums, ErrorAccumulator::Create(stream_));
    const dim3 grid(BlocksFor(shape_.n, kTile), BlocksFor(shape_.m, kTile),
                    static_cast<unsigned>(shape_.batch));
    CompareKernel<<<grid, dim3(kSide, kSide), 0, stream_>>>(shape_, a_, b_, d_, limits_,
                                                            sums.device());
    ASSAY_CUDA(cudaGetLastError());
    ASSAY_ASSIGN_OR_RETURN(const Verdict verdict,
                           sums.Read(verdict_.elements_checked, limits_, reference, stream_));
    verdict_.reference = reference;
    Add(verdict, "D");
    return Status::Ok();
  }

  // Checks one product of the batch by Freivalds' method: for each slice of D's columns, compares
  // D s with A (B s), where s is a vector of random signs. An element of D s is a sum over the
  // columns of the slice, so its typical size and error grow with the square root of their number.
  Status CompareRows(int64_t product) {
    const auto vector = [](int64_t length) {
      return DeviceBuffer::Allocate(length * static_cast<int64_t>(sizeof(double)),
                                    "a vector of the check");
    };
    const auto [m, n, k] = std::tuple(shape_.m, shape_.n, shape_.k);
    ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer bs, vector(k));
    ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer abs, vector(m));
    ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer ds, vector(m));
    ASSAY_ASSIGN_OR_RETURN(const ErrorAccumulator sums, ErrorAccumulator::Create(stream_));
    const A* const a = a_ + product * m * k;
    const B* const b = b_ + product * k * n;
    const D* const d = d_ + product * m * n;
    const bool ta = shape_.a_transposed;
    const bool tb = shape_.b_transposed;
    const int64_t slices = (n + kSliceColumns - 1) / kSliceColumns;
    for (int64_t slice = 0; slice < slices; ++slice) {
      const int64_t first = slice * n / slices;
      const int64_t columns = (slice + 1) * n / slices - first;
      ASSAY_RETURN_IF_ERROR(Product(b + (tb ? first * k : first), tb, k, columns, tb ? k : n,
                                    nullptr, bs.as<double>()));
      ASSAY_RETURN_IF_ERROR(Product(a, ta, m, k, ta ? m : k, bs.as<double>(), abs.as<double>()));
      ASSAY_RETURN_IF_ERROR(Product(d + first, false, m, columns, n, nullptr, ds.as<double>()));
      const ErrorLimits limits = {limits_.tolerance, kRowFactor * limits_.tolerance,
                                  limits_.typical * std::sqrt(static_cast<double>(columns))};
      CompareElementsKernel<<<BlocksFor(m, 256), 256, 0, stream_>>>(VectorElement{ds.as<double>()},
                                                                    VectorElement{abs.as<double>()},
                                                                    m, limits, sums.device());
      ASSAY_CUDA(cudaGetLastError());
    }
    ASSAY_ASSIGN_OR_RETURN(const Verdict verdict,
                           sums.Read(m * slices, limits_, verdict_.reference, stream_));
    Add(verdict, "D s, a row of D each, in product " + std::to_string(product));
    return Status::Ok();
  }

  // Computes the matrix-vector product y = op(M) x, where op(M) is M or its transpose and has size
  // rows x columns. The stored rows of M are `stride` elements apart. If x is null, uses a vector
  // of random signs.
  template <typename T>
  Status Product(const T* matrix, bool transposed, int64_t rows, int64_t columns, int64_t stride,
                 const double* x, double* y) {
    if (transposed) {
      ASSAY_CUDA(cudaMemsetAsync(y, 0, static_cast<size_t>(rows) * sizeof(double), stream_));
      const dim3 grid(BlocksFor(rows, 256), 64);
      ColumnProductKernel<<<grid, 256, 0, stream_>>>(matrix, columns, rows, stride, x, inputs_.seed,
                                                     y);
    } else {
      RowProductKernel<<<BlocksFor(rows * 32, 256), 256, 0, stream_>>>(matrix, rows, columns,
                                                                       stride, x, inputs_.seed, y);
    }
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  Result<std::vector<double>> GatherSamples(const D* d, const std::vector<int64_t>& rows,
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
    GatherKernel<<<static_cast<unsigned>(rows.size()), static_cast<unsigned>(columns.size()), 0,
                   stream_>>>(d, shape_.n, indices.as<int64_t>(),
                              indices.as<int64_t>() + rows.size(), static_cast<int>(columns.size()),
                              out.as<double>());
    ASSAY_CUDA(cudaGetLastError());
    ASSAY_CUDA(cudaMemcpyAsync(samples.data(), out.data(), samples.size() * sizeof(double),
                               cudaMemcpyDefault, stream_));
    ASSAY_CUDA(cudaStreamSynchronize(stream_));
    return samples;
  }

  // Regenerates on the host the rows of op(A), or the columns of op(B), with the given `indices`.
  // Each is a vector of length k. The matrix starts at element `first` of the random sequence
  // `stream`.
  template <typename T>
  std::vector<double> Regenerate(uint64_t stream, int64_t first,
                                 const std::vector<int64_t>& indices, int64_t vector_stride,
                                 int64_t element_stride) const {
    std::vector<double> values;
    values.reserve(indices.size() * static_cast<size_t>(shape_.k));
    for (const int64_t index : indices) {
      for (int64_t k = 0; k < shape_.k; ++k) {
        values.push_back(Widen(
            InputValue<T>(inputs_, stream, first + index * vector_stride + k * element_stride)));
      }
    }
    return values;
  }

  Status CompareSamples() {
    const std::vector<int64_t> products = Spread(shape_.batch, kSampledProducts);
    // At most a few hundred million multiplications.
    const auto budget = 1e8 / static_cast<double>(products.size());
    const int64_t side = std::clamp<int64_t>(
        static_cast<int64_t>(std::sqrt(budget / static_cast<double>(shape_.k))), 4, 64);
    const std::vector<int64_t> rows = Spread(shape_.m, side);
    const std::vector<int64_t> columns = Spread(shape_.n, side);
    for (const int64_t product : products) {
      ASSAY_RETURN_IF_ERROR(CompareSamples(product, rows, columns));
    }
    verdict_.reference += "; fp64 on host, " + std::to_string(rows.size()) + " x " +
                          std::to_string(columns.size()) + " elements";
    if (shape_.batch > 1) {
      verdict_.reference += " of " + std::to_string(products.size()) + " products";
    }
    return Status::Ok();
  }

  Status CompareSamples(int64_t product, const std::vector<int64_t>& rows,
                        const std::vector<int64_t>& columns) {
    const auto [m, n, k] = std::tuple(shape_.m, shape_.n, shape_.k);
    ASSAY_ASSIGN_OR_RETURN(const std::vector<double> samples,
                           GatherSamples(d_ + product * m * n, rows, columns));
    const bool ta = shape_.a_transposed;
    const bool tb = shape_.b_transposed;
    const auto a = Regenerate<A>(kStreamA, set_ * inputs_.stride_a + product * m * k, rows,
                                 ta ? 1 : k, ta ? m : 1);
    const auto b = Regenerate<B>(kStreamB, set_ * inputs_.stride_b + product * k * n, columns,
                                 tb ? k : 1, tb ? 1 : n);
    Verdict verdict;
    double error_squared = 0;
    double reference_squared = 0;
    const auto depth = static_cast<size_t>(k);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t j = 0; j < columns.size(); ++j) {
        double reference = 0;
        for (size_t l = 0; l < depth; ++l) reference += a[i * depth + l] * b[j * depth + l];
        const double actual = samples[i * columns.size() + j];
        const double error = std::fabs(actual - reference);
        if (!(error <= limits_.element * std::max(std::fabs(reference), limits_.typical)) &&
            verdict.detail.empty()) {
          verdict.detail = "(" + std::to_string(product * m + rows[i]) + ", " +
                           std::to_string(columns[j]) + ") is " + NumberText(actual, 9) +
                           ", should be " + NumberText(reference, 9);
        }
        error_squared += error * error;
        reference_squared += reference * reference;
      }
    }
    verdict.error = error_squared == 0 ? 0 : std::sqrt(error_squared / reference_squared);
    verdict.passed = verdict.detail.empty() && verdict.error <= limits_.tolerance;
    if (!verdict.passed && verdict.detail.empty()) {
      verdict.detail = "||D - ref|| / ||ref|| is " + NumberText(verdict.error);
    }
    Add(verdict, "D, sampled");
    return Status::Ok();
  }

  // Adds the findings of one piece of the check; `where` names the piece.
  void Add(const Verdict& verdict, const std::string& where) {
    // This order of the operands preserves NaN.
    if (!(verdict.error <= verdict_.error)) verdict_.error = verdict.error;
    if (verdict.passed) return;
    verdict_.passed = false;
    if (verdict_.detail.empty()) verdict_.detail = where + ": " + verdict.detail;
  }

  const GemmShape shape_;
  const GemmInputs inputs_;
  const int64_t set_;
  const A* const a_;
  const B* const b_;
  const D* const d_;
  const cudaStream_t stream_;
  ErrorLimits limits_;
  Verdict verdict_;
};

}  // namespace

double GemmTolerance(const GemmShape& shape) {
  const double steps = std::sqrt(static_cast<double>(shape.k));
  const double accumulator = std::ldexp(1.0, -23) * steps;
  switch (shape.type) {
    case GemmType::kFp64:
      return std::ldexp(1.0, -51) + std::ldexp(1.0, -52) * steps;
    case GemmType::kFp32:
      return std::ldexp(1.0, -22) + accumulator;
    case GemmType::kTf32:
      return 2e-3 + accumulator;  // Operands keep 10 bits, rounded or truncated.
    case GemmType::kBf16:
      return 4e-3 + accumulator;  // 2^-8, half an ulp of D.
    case GemmType::kFp16:
      return 5e-4 + accumulator;  // 2^-11, half an ulp of D.
    case GemmType::kFp8E4m3:
    case GemmType::kFp8E5m2:
      // D is bf16. Accumulated in an H200's tensor cores, sums of 8192 products had errors of 2e-3.
      return 4e-3 + std::ldexp(1.0, -15) * (shape.fast_accumulation ? steps : 1);
    case GemmType::kInt8:
      break;
  }
  return 0;
}

Status FillGemmInputs(const GemmShape& shape, const GemmInputs& inputs, int64_t set, void* a,
                      void* b, cudaStream_t stream) {
  return WithGemmTypes(shape.type, [&](auto types) -> Status {
    using Types = decltype(types);
    ASSAY_RETURN_IF_ERROR(Fill<typename Types::A>(inputs, kStreamA, set * inputs.stride_a,
                                                  shape.batch * shape.m * shape.k, a, stream));
    return Fill<typename Types::B>(inputs, kStreamB, set * inputs.stride_b,
                                   shape.batch * shape.k * shape.n, b, stream);
  });
}

Result<Verdict> CheckGemm(const GemmShape& shape, const GemmInputs& inputs, int64_t set,
                          const GemmOperands& operands, cudaStream_t stream) {
  return WithGemmTypes(shape.type, [&](auto types) {
    return Checker<decltype(types)>(shape, inputs, set, operands, stream).Check();
  });
}

}  // namespace assay
