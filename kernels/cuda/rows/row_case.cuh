// The base class of benchmarks that process the rows of a matrix (softmax, layernorm, rmsnorm). It
// chooses the kernel, allocates and fills the memory, and checks the result. The device checks
// every element in fp64 and the host checks a few rows. Both regenerate the inputs from the seed.
// Each benchmark supplies a class Op with the functions of row_kernels.cuh and two more functions
// for both host and device:
//   AddToSums  adds an element to two sums of its row
//   Reference  returns an element of the result, given those sums
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/units.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/error_sums.cuh"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/rows/row_kernels.cuh"
#include "kernels/cuda/rows/short_rows.cuh"

namespace assay {

inline constexpr uint64_t kRowStreamInput = 1;
inline constexpr uint64_t kRowStreamWeights = 2;  // And the following streams.

// The inputs of a row benchmark, computed from the seed. Element i of the rows x columns matrix is
// element first + i of a random sequence, or 0 if `zeros`. The weights (gamma, beta) do not depend
// on `first`.
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

// Computes the two sums of Op::AddToSums for each row of [first_row, first_row + rows). The sums of
// row r are added to elements 2 (r - first_row) and 2 (r - first_row) + 1 of `sums`. Each warp
// processes one chunk of a row at a time.
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

// Compares every element of `out` on the device, and a few rows on the host. Synchronizes `stream`.
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
  // Limits the elements that the host checks, so that the check takes it at most a second.
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

// Selects and launches the kernel for rows of one shape.
template <typename Op, typename T>
class RowProgram {
 public:
  // Chooses the first of the following that can process the rows:
  // - short rows: a group of lanes per row;
  // - rows that fit in the registers of a block: the smallest such block, with at most 512 threads
  //   if the GPU supports clusters, else 1024;
  // - rows that fit in the registers of a cluster, if the GPU supports clusters: clusters that
  //   process one row after another;
  // - all other rows: several chunks per row.
  // `clusters` says whether the GPU supports clusters.
  Status Plan(int64_t rows, int64_t columns, bool clusters) {
    rows_ = rows;
    if (short_.Plan(rows, columns)) {
      if (short_.blocks() > std::numeric_limits<int>::max()) return TooManyRows();
      is_short_ = true;
      return Status::Ok();
    }
    aligned_ = columns % kLength == 0;
    // Maximum number of vectors that a row touches, at any alignment.
    vectors_ = (columns + (aligned_ ? 0 : kLength - 1) + kLength - 1) / kLength;
    ASSAY_RETURN_IF_ERROR(Try<128>());
    ASSAY_RETURN_IF_ERROR(Try<192>());
    ASSAY_RETURN_IF_ERROR(Try<256>());
    ASSAY_RETURN_IF_ERROR(Try<384>());
    ASSAY_RETURN_IF_ERROR(Try<512>());
    if (clusters) {
      // Small blocks come first, because several of them fit the length of a row more closely.
      for (int blocks = 3; blocks <= kMostRowBlocks; ++blocks) {
        ASSAY_RETURN_IF_ERROR(TryCluster<256>(blocks, columns));
      }
      for (int blocks = 5; blocks <= kMostRowBlocks; ++blocks) {
        ASSAY_RETURN_IF_ERROR(TryCluster<512>(blocks, columns));
      }
    } else {
      ASSAY_RETURN_IF_ERROR(Try<1024>());
    }
    if (threads_ != 0) return Status::Ok();
    // The length of a chunk does not depend on the alignment.
    const int64_t blocks = rows * Chunk::Chunks(columns);
    if (blocks > std::numeric_limits<int>::max()) {
      return InvalidArgument(std::to_string(rows) + " rows of " + std::to_string(columns) +
                             " columns are more chunks than a launch has blocks (2^31 - 1)");
    }
    grid_ = static_cast<unsigned>(blocks);
    return Status::Ok();
  }

  // Returns how many bytes of workspace the partial results of chunks need, or 0 if rows are not
  // divided into chunks.
  int64_t WorkspaceBytes() const {
    return is_short_ || threads_ != 0 ? 0 : int64_t{grid_} * static_cast<int64_t>(sizeof(Partial));
  }

  Status Enqueue(const RowArgs<T>& args, void* workspace, cudaStream_t stream) const {
    if (is_short_) {
      short_.Launch(args, stream);
      ASSAY_CUDA(cudaGetLastError());
      return Status::Ok();
    }
    if (kernel_ != nullptr) {
      kernel_<<<grid_, threads_, 0, stream>>>(args);
      ASSAY_CUDA(cudaGetLastError());
      return Status::Ok();
    }
    if (cluster_kernel_ != nullptr) return EnqueueClusters(args, stream);
    auto* const partials = static_cast<Partial*>(workspace);
    return aligned_ ? EnqueueChunks<true>(args, partials, stream)
                    : EnqueueChunks<false>(args, partials, stream);
  }

 private:
  static constexpr int kLength = Vector<T>::kLength;
  static constexpr int kChunkThreads = 256;
  static constexpr int kChunkVectors = 4;
  using Partial = typename Op::Partial;
  using Chunk = RowChunk<T, kChunkThreads, kChunkVectors, false>;

  template <bool kAligned>
  Status EnqueueChunks(const RowArgs<T>& args, Partial* partials, cudaStream_t stream) const {
    ChunkSummaryKernel<Op, T, kChunkThreads, kChunkVectors, kAligned>
        <<<grid_, kChunkThreads, 0, stream>>>(args, partials);
    ASSAY_CUDA(cudaGetLastError());
    ChunkFinishKernel<Op, T, kChunkThreads, kChunkVectors, kAligned>
        <<<grid_, kChunkThreads, 0, stream>>>(args, partials);
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  // Returns the configuration of a launch with clusters. The configuration refers to `attribute`,
  // which this function fills in.
  cudaLaunchConfig_t ClusterLaunch(cudaLaunchAttribute* attribute, cudaStream_t stream) const {
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim = {static_cast<unsigned>(cluster_blocks_), 1, 1};
    cudaLaunchConfig_t launch{};
    launch.gridDim = grid_;
    launch.blockDim = threads_;
    launch.dynamicSmemBytes = shared_bytes_;
    launch.stream = stream;
    launch.attrs = attribute;
    launch.numAttrs = 1;
    return launch;
  }

  Status EnqueueClusters(const RowArgs<T>& args, cudaStream_t stream) const {
    cudaLaunchAttribute attribute{};
    const cudaLaunchConfig_t launch = ClusterLaunch(&attribute, stream);
    ASSAY_CUDA(cudaLaunchKernelEx(&launch, cluster_kernel_, args, part_));
    return Status::Ok();
  }

  // Chooses clusters of `blocks` blocks if no kernel has been chosen yet and a row fits in a
  // cluster.
  template <int kThreads>
  Status TryCluster(int blocks, int64_t columns) {
    constexpr int kVectors = 4;
    const int64_t part = ((columns + blocks - 1) / blocks + kLength - 1) / kLength;
    // A part that begins within a vector touches one more vector.
    if (threads_ != 0 || part + (aligned_ ? 0 : 1) > int64_t{kThreads} * kVectors) {
      return Status::Ok();
    }
    cluster_blocks_ = blocks;
    part_ = static_cast<int>(part) * kLength;
    threads_ = kThreads;
    shared_bytes_ = RowClusterBytes<T, kThreads, kVectors>();
    cluster_kernel_ = aligned_ ? RowClusterKernel<Op, T, kThreads, kVectors, true>
                               : RowClusterKernel<Op, T, kThreads, kVectors, false>;
    ASSAY_CUDA(cudaFuncSetAttribute(cluster_kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_bytes_)));
    // Launch as many clusters as the GPU holds at once, or fewer if there are fewer rows.
    grid_ = static_cast<unsigned>(blocks);
    cudaLaunchAttribute attribute{};
    const cudaLaunchConfig_t launch = ClusterLaunch(&attribute, nullptr);
    int resident = 0;
    ASSAY_CUDA(cudaOccupancyMaxActiveClusters(&resident, cluster_kernel_, &launch));
    if (resident == 0) {
      // This GPU holds no such cluster. If no other cluster fits either, Plan() divides rows into
      // chunks.
      cluster_kernel_ = nullptr;
      threads_ = 0;
      return Status::Ok();
    }
    grid_ *= static_cast<unsigned>(std::min<int64_t>(rows_, resident));
    return Status::Ok();
  }

  // Chooses one block of kThreads threads per row if no kernel has been chosen yet and a row fits
  // in such a block.
  template <int kThreads>
  Status Try() {
    constexpr int kVectors = 4;
    if (threads_ != 0 || vectors_ > int64_t{kThreads} * kVectors) return Status::Ok();
    if (rows_ > std::numeric_limits<int>::max()) return TooManyRows();
    grid_ = static_cast<unsigned>(rows_);
    threads_ = kThreads;
    kernel_ = aligned_ ? RowKernel<Op, T, kThreads, kVectors, true>
                       : RowKernel<Op, T, kThreads, kVectors, false>;
    return Status::Ok();
  }

  Status TooManyRows() const {
    return InvalidArgument(std::to_string(rows_) +
                           " rows need more blocks than a launch has (2^31 - 1)");
  }

  int64_t rows_ = 0;
  int64_t vectors_ = 0;  // Maximum per row.
  bool aligned_ = false;
  bool is_short_ = false;  // If true, short_ processes the rows.
  ShortRowProgram<Op, T> short_;
  // If `is_short_` is false, at most one of these kernels is set. If neither is, rows are divided
  // into chunks.
  void (*kernel_)(RowArgs<T>) = nullptr;
  void (*cluster_kernel_)(RowArgs<T>, int) = nullptr;
  int cluster_blocks_ = 0;
  size_t shared_bytes_ = 0;  // Dynamic shared memory of a block of a cluster.
  int part_ = 0;             // Columns of a row that a block of a cluster holds.
  unsigned grid_ = 0;
  unsigned threads_ = 0;
};

// Returns the error limits of a row benchmark. They cover the rounding to `dtype` and, for fp32,
// the rounding of the arithmetic. `typical` is the size of a typical element of the result.
inline ErrorLimits RowErrorLimits(const std::string& dtype, double typical) {
  ErrorLimits limits;
  limits.tolerance = dtype == "bf16" ? 4e-3 : dtype == "fp16" ? 1e-3 : 1e-5;
  limits.element = dtype == "fp32" ? 20 * limits.tolerance : 4 * limits.tolerance;
  limits.typical = typical;
  return limits;
}

template <typename Op, typename T>
class RowCase : public GpuCase {
 public:
  explicit RowCase(const RunContext& context)
      : GpuCase(context),
        dtype_(Word(context.parameters, "dtype")),
        rows_(Integer(context.parameters, "rows")),
        columns_(Integer(context.parameters, "columns")) {}

 protected:
  // Checks that this variant can process the matrix, and returns how many bytes of workspace it
  // needs. The GPU is current during the call.
  virtual Result<int64_t> PlanVariant() {
    ASSAY_RETURN_IF_ERROR(program_.Plan(rows_, columns_, device().compute_major >= 9));
    return program_.WorkspaceBytes();
  }
  virtual Status EnqueueVariant(const RowArgs<T>& args, void* workspace) {
    return program_.Enqueue(args, workspace, stream());
  }

  Status SetUp() override {
    ASSAY_ASSIGN_OR_RETURN(const int64_t workspace, PlanVariant());
    const int64_t bytes = rows_ * columns_ * kElementBytes;
    AddArray(bytes);
    AddArray(bytes);
    for (int weight = 0; weight < Op::kWeights; ++weight) AddArray(columns_ * kElementBytes);
    AddArray(workspace);
    ASSAY_RETURN_IF_ERROR(AllocateSets("the input and output of " + ApproximateBytes(bytes), 4));
    for (int64_t set = 0; set < sets(); ++set) {
      ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, 1), rows_ * columns_, zeros(), seed(),
                                         kRowStreamInput, set * rows_ * columns_, stream()));
      for (int weight = 0; weight < Op::kWeights; ++weight) {
        ASSAY_RETURN_IF_ERROR(FillElements(Array<T>(set, 2 + weight), columns_, false, seed(),
                                           kRowStreamWeights + static_cast<uint64_t>(weight), 0,
                                           stream()));
      }
    }
    return Status::Ok();
  }

  Status Enqueue(int64_t set) override {
    RowArgs<T> args;
    args.in = Array<T>(set, 1);
    args.out = Array<T>(set, 0);
    for (int weight = 0; weight < Op::kWeights; ++weight) {
      args.weights[weight] = Array<T>(set, 2 + weight);
    }
    args.rows = rows_;
    args.columns = columns_;
    return EnqueueVariant(args, Array<void>(set, 2 + Op::kWeights));
  }

  OutputRange Output(int64_t set) override {
    return {Array<void>(set, 0), rows_ * columns_ * kElementBytes};
  }

  Result<Verdict> Check(int64_t set) override {
    const RowValues<T> values{seed(), set * rows_ * columns_, zeros(), rows_, columns_};
    return CheckRows<Op, T>(Array<T>(set, 0), values, Op::Limits(dtype_, columns_), stream());
  }

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

 private:
  static constexpr int64_t kElementBytes = sizeof(T);

  const std::string dtype_;
  const int64_t rows_;
  const int64_t columns_;
  RowProgram<Op, T> program_;
};

template <typename Op>
Result<std::unique_ptr<Case>> PrepareRowCase(const RunContext& context) {
  return WithElementType(Word(context.parameters, "dtype"),
                         [&](auto tag) -> Result<std::unique_ptr<Case>> {
                           return PrepareCase<RowCase<Op, typename decltype(tag)::Type>>(context);
                         });
}

}  // namespace assay
