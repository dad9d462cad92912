// The kernel and the case of transpose.
#include "common/units.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/frame/random.cuh"

namespace assay {
namespace {

constexpr uint64_t kStreamIn = 1;
constexpr int kTile = 64;        // Rows and columns of a block's tile.
constexpr int kThreadRows = 16;  // A block has 16 rows of threads, each with 16 vectors per row.
constexpr int kLength = 4;       // Elements per vector.
constexpr int kPerRow = kTile / kLength;

template <typename T>
struct alignas(kLength * sizeof(T)) Vector4 {
  T element[kLength];
};

template <typename T>
__host__ __device__ T InputElement(uint64_t seed, int64_t index) {
  return static_cast<T>(RandomBits(seed, kStreamIn, static_cast<uint64_t>(index)));
}

template <typename T>
__global__ void FillKernel(T* in, int64_t count, uint64_t seed, int64_t first) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    in[i] = InputElement<T>(seed, first + i);
  }
}

// Transposes the rows x columns matrix `in` into the columns x rows matrix `out`, one tile per
// block. The tile passes through shared memory, so that global reads and writes both access whole
// rows. Rows of the tile are padded by one element to avoid bank conflicts. kAligned requires that
// rows and columns are multiples of kLength, so that no vector crosses the edge of the matrix.
template <typename T, bool kAligned>
__global__ void __launch_bounds__(kThreadRows* kPerRow)
    TransposeKernel(const T* in, T* out, int64_t rows, int64_t columns) {
  __shared__ T tile[kTile][kTile + 1];
  const int x = static_cast<int>(threadIdx.x) % kPerRow * kLength;
  const int y = static_cast<int>(threadIdx.x) / kPerRow;
  const int64_t first_row = int64_t{blockIdx.y} * kTile;
  const int64_t first_column = int64_t{blockIdx.x} * kTile;
#pragma unroll
  for (int i = y; i < kTile; i += kThreadRows) {
    const int64_t row = first_row + i;
    const int64_t column = first_column + x;
    if (kAligned) {
      if (row >= rows || column >= columns) continue;
      const auto vector = *reinterpret_cast<const Vector4<T>*>(in + row * columns + column);
      for (int j = 0; j < kLength; ++j) tile[i][x + j] = vector.element[j];
    } else {
      for (int j = 0; j < kLength; ++j) {
        if (row < rows && column + j < columns) tile[i][x + j] = in[row * columns + column + j];
      }
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = y; i < kTile; i += kThreadRows) {
    const int64_t row = first_column + i;  // Row and column of `out`.
    const int64_t column = first_row + x;
    if (kAligned) {
      if (row >= columns || column >= rows) continue;
      Vector4<T> vector;
      for (int j = 0; j < kLength; ++j) vector.element[j] = tile[x + j][i];
      *reinterpret_cast<Vector4<T>*>(out + row * rows + column) = vector;
    } else {
      for (int j = 0; j < kLength; ++j) {
        if (row < columns && column + j < rows) out[row * rows + column + j] = tile[x + j][i];
      }
    }
  }
}

template <typename T>
__global__ void CheckKernel(const T* out, int64_t rows, int64_t columns, uint64_t seed,
                            int64_t first, Mismatches* mismatches) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * columns; i += step) {
    const int64_t source = i % rows * columns + i / rows;
    if (out[i] != InputElement<T>(seed, first + source)) Report(mismatches, i);
  }
}

template <typename T>
class TransposeCase : public GpuCase {
 public:
  explicit TransposeCase(const RunContext& context)
      : GpuCase(context),
        rows_(Integer(context.parameters, "rows")),
        columns_(Integer(context.parameters, "columns")) {}

 protected:
  Status SetUp() override {
    AddArray(Bytes());
    AddArray(Bytes());
    ASSAY_RETURN_IF_ERROR(AllocateSets("2 matrices of " + ApproximateBytes(Bytes()), 4));
    for (int64_t set = 0; set < sets(); ++set) {
      FillKernel<<<2048, 256, 0, stream()>>>(Array<T>(set, 1), rows_ * columns_, seed(),
                                             set * rows_ * columns_);
      ASSAY_CUDA(cudaGetLastError());
    }
    return Status::Ok();
  }

  Status Enqueue(int64_t set) override {
    const dim3 tiles(static_cast<unsigned>((columns_ + kTile - 1) / kTile),
                     static_cast<unsigned>((rows_ + kTile - 1) / kTile));
    const bool aligned = rows_ % kLength == 0 && columns_ % kLength == 0;
    const auto kernel = aligned ? TransposeKernel<T, true> : TransposeKernel<T, false>;
    kernel<<<tiles, kThreadRows * kPerRow, 0, stream()>>>(Array<T>(set, 1), Array<T>(set, 0), rows_,
                                                          columns_);
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  OutputRange Output(int64_t set) override { return {Array<void>(set, 0), Bytes()}; }

  Result<Verdict> Check(int64_t set) override {
    ASSAY_ASSIGN_OR_RETURN(const MismatchCounter counter, MismatchCounter::Create(stream()));
    CheckKernel<<<2048, 256, 0, stream()>>>(Array<T>(set, 0), rows_, columns_, seed(),
                                            set * rows_ * columns_, counter.device());
    ASSAY_CUDA(cudaGetLastError());
    return counter.Read(Array<void>(set, 0), rows_ * columns_, sizeof(T), stream());
  }

 private:
  int64_t Bytes() const { return rows_ * columns_ * static_cast<int64_t>(sizeof(T)); }

  const int64_t rows_;  // Rows of the input.
  const int64_t columns_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewTransposeCase(const RunContext& context) {
  return ElementBytes(Word(context.parameters, "dtype")) == 4
             ? PrepareCase<TransposeCase<uint32_t>>(context)
             : PrepareCase<TransposeCase<uint16_t>>(context);
}

}  // namespace assay
