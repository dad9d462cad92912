// Verifies the kernels over rows: every element against fp64 arithmetic on the device, and a few
// rows against the host's. Both regenerate the inputs from the seed.
//
// In addition to the functions of row_kernels.cuh, Op provides for host and device:
//   AddToSums  adds an element to its row's two sums.
//   Reference  returns an element of the result, from those sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/error_sums.cuh"

namespace assay {

inline constexpr uint64_t kRowStreamInput = 1;
inline constexpr uint64_t kRowStreamWeights = 2;  // And the following streams.

// Generates a rows x columns matrix of T whose element i is element (first + i) of the sequence, or
// 0. The weights are equal for every matrix.
template <typename T>
struct RowValues {
  uint64_t seed = 0;
  int64_t first = 0;
  bool zeros = false;
  int64_t rows = 0;
  int64_t columns = 0;

  __host__ __device__ double Input(int64_t i) const {
    return zeros ? 0.0 : Widen(RandomElement<T>(seed, kRowStreamInput, first + i));
  }
  __host__ __device__ double Weight(int which, int64_t column) const {
    return Widen(RandomElement<T>(seed, kRowStreamWeights + which, column));
  }
  template <typename Op>
  __host__ __device__ double Reference(int64_t row, int64_t column, const double* sums) const {
    const double gamma = Op::kWeights > 0 ? Weight(0, column) : 1.0;
    const double beta = Op::kWeights > 1 ? Weight(1, column) : 0.0;
    return Op::Reference(Input(row * columns + column), sums, static_cast<double>(columns), gamma,
                         beta);
  }
};

inline constexpr int64_t kCheckChunk = 4096;

// Adds up the sums of rows [first_row, first_row + rows) in sums[2 * (row - first_row)] and the
// next element. Each warp takes a chunk of a row.
template <typename Op, typename T>
__global__ void RowSumsKernel(RowValues<T> values, int64_t first_row, int64_t rows, double* sums) {
  const int64_t chunks = (values.columns + kCheckChunk - 1) / kCheckChunk;
  const int64_t step = int64_t{gridDim.x} * blockDim.x / 32;
  int64_t task = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / 32;
  for (; task < rows * chunks; task += step) {
    const int64_t row = task / chunks;
    const int64_t begin = task % chunks * kCheckChunk;
    const int64_t end = min(begin + kCheckChunk, values.columns);
    double mine[2] = {};
    for (int64_t column = begin + threadIdx.x % 32; column < end; column += 32) {
      Op::AddToSums(values.Input((first_row + row) * values.columns + column), mine);
    }
    for (int mask = 16; mask > 0; mask /= 2) {
      mine[0] += __shfl_xor_sync(0xffffffff, mine[0], mask);
      mine[1] += __shfl_xor_sync(0xffffffff, mine[1], mask);
    }
    if (threadIdx.x % 32 == 0) {
      atomicAdd(&sums[2 * row], mine[0]);
      atomicAdd(&sums[2 * row + 1], mine[1]);
    }
  }
}

template <typename Op, typename T>
__global__ void RowCompareKernel(const T* out, RowValues<T> values, int64_t first_row, int64_t rows,
                                 const double* sums, ErrorLimits limits, ErrorSums* errors) {
  ErrorThread thread(limits, errors);
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t count = rows * values.columns;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    const int64_t row = i / values.columns;
    const int64_t index = first_row * values.columns + i;
    thread.Add(index, Widen(out[index]),
               values.template Reference<Op>(first_row + row, i % values.columns, sums + 2 * row));
  }
  thread.Flush();
}

// Compares row `row` on the host and fails `verdict` if it is wrong.
template <typename Op, typename T>
Status CompareRowOnHost(const T* out, const RowValues<T>& values, int64_t row,
                        const ErrorLimits& limits, Verdict* verdict) {
  const int64_t columns = values.columns;
  std::vector<T> actual(static_cast<size_t>(columns));
  ASSAY_CUDA(
      cudaMemcpy(actual.data(), out + row * columns, actual.size() * sizeof(T), cudaMemcpyDefault));
  double sums[2] = {};
  for (int64_t i = 0; i < columns; ++i) Op::AddToSums(values.Input(row * columns + i), sums);
  for (int64_t i = 0; i < columns && verdict->passed; ++i) {
    const double reference = values.template Reference<Op>(row, i, sums);
    const double value = Widen(actual[static_cast<size_t>(i)]);
    // Negated, so that NaN fails.
    if (!(std::fabs(value - reference) <=
          limits.element * std::max(std::fabs(reference), limits.typical))) {
      verdict->passed = false;
      verdict->detail = "element (" + std::to_string(row) + ", " + std::to_string(i) + ") is " +
                        std::to_string(value) + ", should be " + std::to_string(reference) +
                        " as the host computes it";
    }
  }
  return Status::Ok();
}

// Compares every element of `out`. Synchronises with `stream`.
template <typename Op, typename T>
Result<Verdict> CheckRows(const T* out, const RowValues<T>& values, const ErrorLimits& limits,
                          cudaStream_t stream) {
  constexpr int64_t kBatchRows = int64_t{1} << 20;
  const int64_t batch = std::min(values.rows, kBatchRows);
  const auto sums_bytes = static_cast<size_t>(batch) * 2 * sizeof(double);
  ASSAY_ASSIGN_OR_RETURN(
      const DeviceBuffer sums,
      DeviceBuffer::Allocate(static_cast<int64_t>(sums_bytes), "the check's sums of rows"));
  ASSAY_ASSIGN_OR_RETURN(const ErrorAccumulator errors, ErrorAccumulator::Create(stream));
  for (int64_t row = 0; row < values.rows; row += batch) {
    const int64_t rows = std::min(batch, values.rows - row);
    ASSAY_CUDA(cudaMemsetAsync(sums.data(), 0, sums_bytes, stream));
    RowSumsKernel<Op, T><<<1024, 256, 0, stream>>>(values, row, rows, sums.as<double>());
    ASSAY_CUDA(cudaGetLastError());
    RowCompareKernel<Op, T><<<2048, 256, 0, stream>>>(out, values, row, rows, sums.as<double>(),
                                                      limits, errors.device());
    ASSAY_CUDA(cudaGetLastError());
  }
  // Takes at most a second of the host's time.
  constexpr int64_t kHostElements = int64_t{1} << 24;
  const int64_t host_rows = std::min<int64_t>({3, values.rows, kHostElements / values.columns});
  std::string reference = "fp64 on device, every element";
  if (host_rows > 0) reference += "; fp64 on host, " + std::to_string(host_rows) + " rows";
  ASSAY_ASSIGN_OR_RETURN(Verdict verdict, errors.Read(values.rows * values.columns, limits,
                                                      std::move(reference), stream));
  for (int64_t i = 0; i < host_rows && verdict.passed; ++i) {
    const int64_t row = host_rows > 1 ? i * (values.rows - 1) / (host_rows - 1) : 0;
    ASSAY_RETURN_IF_ERROR((CompareRowOnHost<Op, T>(out, values, row, limits, &verdict)));
  }
  return verdict;
}

}  // namespace assay
