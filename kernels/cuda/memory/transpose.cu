// The transpose benchmark: the kernel that transposes a matrix, and the benchmark case.
#include <numeric>

#include "common/units.h"
#include "kernels/cuda/frame/async_copy.cuh"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/dependent_launch.cuh"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/gpu_parameters.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/frame/random.cuh"
#include "kernels/cuda/frame/vector.cuh"

namespace assay {
namespace {

constexpr uint64_t kStreamIn = 1;
constexpr int kThreads = 128;          // Threads per block.
constexpr int kBlocksPerSm = 12;       // Enough for 96 KiB of loads in flight per SM.
constexpr int kSectorBytes = 32;       // The unit in which the L2 cache reads and writes memory.
constexpr int kSegmentBytes = 128;     // Bytes of a row of the output that a tile holds.
constexpr int kLargeTileColumns = 64;  // Columns of the input that a tile holds.
constexpr int kSmallTileColumns = 16;
constexpr int kGroupTiles = 16;  // Maximum number of rows of tiles in a group.

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

// Sizes of the tile that a block transposes, in elements unless stated otherwise.
template <typename T, int columns>
struct Tile {
  static constexpr int kLength = Vector<T>::kLength;
  static constexpr int kSector = kSectorBytes / sizeof(T);
  static constexpr int kRows = kSegmentBytes / sizeof(T);
  // The size in bytes of one row of the tile in shared memory, including an extra vector of 16
  // bytes, because the row may begin at any offset within the first 16 bytes.
  static constexpr int kRowBytes = columns * sizeof(T) + sizeof(Vector<T>);
  // A tile may need up to kSector - 1 rows more than kRows.
  static constexpr int kBytes = (kRows + kSector) * (kRowBytes + sizeof(Vector<T>) / kLength);

  // Returns the byte offset in shared memory of the space reserved for row `row`. The threads of a
  // warp read rows that are kLength apart. To keep these threads in different banks, 16 unused
  // bytes follow each group of kLength rows.
  __device__ static int Offset(unsigned row) {
    return static_cast<int>(row * kRowBytes + row / kLength * sizeof(Vector<T>));
  }
};

// Returns how many rows a tile needs in addition to kRows. Extra rows are needed because the
// segments of the tile's columns begin in different rows. Their number is the largest value of
// column * rows % kSector.
template <typename T>
int ExtraRows(int64_t rows) {
  constexpr int kSector = kSectorBytes / sizeof(T);
  return kSector - std::gcd(static_cast<int>(rows % kSector), kSector);
}

// Transposes the rows x columns matrix `in` into the columns x rows matrix `out`, one tile per
// block, for any shape. Both matrices are aligned to 256 bytes, and their memory ends at a multiple
// of 256 bytes.
//
// Each column of a tile becomes a segment of a row of `out`. Segments begin at multiples of 32
// bytes, so that no two blocks write to the same sector, except at the ends of a row of `out`. If a
// row does not begin at such a multiple, its segments begin a few elements earlier (the row's
// skew). A tile therefore includes the `extra` preceding rows of `in`, where those with the largest
// skew begin.
//
// Loads are aligned to 16 bytes and copied to shared memory as they are, so an element's place in
// shared memory depends on the alignment of its row of `in`. Since loads are asynchronous, a block
// has all its loads in flight at once and needs no registers for them.
//
// On Hopper, blocks may start while the previous kernel in the stream is finishing, which hides the
// launch time. They access memory only after that kernel has completed.
template <typename T, int tile_columns>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    TransposeKernel(const T* in, T* out, int rows, int columns, int extra) {
  using Sizes = Tile<T, tile_columns>;
  constexpr int kLength = Sizes::kLength;
  __shared__ alignas(sizeof(Vector<T>)) unsigned char tile[Sizes::kBytes];
  const int thread = static_cast<int>(threadIdx.x);
  AllowNext();

  // Blocks start in the order x, y, z, so groups of tile rows are processed one after another, each
  // column by column. Neighboring tiles in both directions are then transposed at about the same
  // time, and the L2 cache can merge their accesses to the same sectors and DRAM pages.
  const int tile_row = static_cast<int>(blockIdx.z * gridDim.x + blockIdx.x);
  const int first_row = tile_row * Sizes::kRows - extra;
  const int first_column = static_cast<int>(blockIdx.y) * tile_columns;
  if (first_row >= rows) return;  // The last group may have fewer rows of tiles.
  // Returns how many elements past a multiple of 16 bytes row `i` of the tile starts in `in`.
  const auto shift = [&](int i) {
    return static_cast<int>(static_cast<unsigned>(first_row + i) * static_cast<unsigned>(columns) +
                            static_cast<unsigned>(first_column)) &
           (kLength - 1);
  };

  // Load the vectors that contain the tile: tile_columns / kLength per row, plus one if the row
  // does not begin at a multiple of 16 bytes.
  {
    constexpr int kVectors = tile_columns / kLength;
    constexpr int kRowsAtOnce = kThreads / kVectors;
    static_assert(kRowsAtOnce % kLength == 0);  // A thread's rows have the same shift.
    static_assert(Sizes::kRows + Sizes::kSector <= kThreads);
    const int width = min(tile_columns, columns - first_column);
    const auto load = [&](int i, int vector, int row_shift) {
      const int row = first_row + i;
      if (row < 0 || row >= rows || i >= Sizes::kRows + extra) return;
      if (vector * kLength >= row_shift + width) return;
      const T* const from =
          in + (int64_t{row} * columns + first_column - row_shift + vector * kLength);
      CopyAsync16(tile + Sizes::Offset(i) + vector * static_cast<int>(sizeof(Vector<T>)), from);
    };
    const int i = thread / kVectors;
    const int row_shift = shift(i);
    WaitForPrevious();
#pragma unroll
    for (int ahead = 0; ahead < Sizes::kRows + Sizes::kSector; ahead += kRowsAtOnce) {
      load(i + ahead, thread % kVectors, row_shift);
    }
    load(thread, kVectors, shift(thread));
    CommitCopies();
    WaitForCopies<0>();
    __syncthreads();
  }

  // Each thread writes kLength consecutive elements to every kColumnsAtOnce-th row of `out`.
  constexpr int kVectors = Sizes::kRows / kLength;
  constexpr int kColumnsAtOnce = kThreads / kVectors;
  static_assert(kColumnsAtOnce % Sizes::kSector == 0);  // A thread's columns have the same skew.
  static_assert(tile_columns % kColumnsAtOnce == 0);
  const int tile_column = thread / kVectors;
  const int first_out_row = first_column + tile_column;
  const int skew =
      static_cast<int>(static_cast<unsigned>(first_out_row) * static_cast<unsigned>(rows)) &
      (Sizes::kSector - 1);
  const int begin = extra - skew + thread % kVectors * kLength;  // Row of the tile.
  const int out_column = first_row + begin;
  if (out_column + kLength <= 0 || out_column >= rows) return;
  const bool whole = out_column >= 0 && out_column + kLength <= rows;
  int offset[kLength];
#pragma unroll
  for (int j = 0; j < kLength; ++j) {
    offset[j] =
        Sizes::Offset(begin + j) + (shift(begin + j) + tile_column) * static_cast<int>(sizeof(T));
  }
#pragma unroll
  for (int ahead = 0; ahead < tile_columns; ahead += kColumnsAtOnce) {
    if (first_out_row + ahead >= columns) return;
    Vector<T> vector;
#pragma unroll
    for (int j = 0; j < kLength; ++j) {
      vector.element[j] =
          *reinterpret_cast<const T*>(tile + offset[j] + ahead * static_cast<int>(sizeof(T)));
    }
    T* const to = out + (int64_t{first_out_row + ahead} * rows + out_column);
    if (whole) {
      *reinterpret_cast<Vector<T>*>(to) = vector;
    } else {
#pragma unroll
      for (int j = 0; j < kLength; ++j) {
        if (out_column + j >= 0 && out_column + j < rows) to[j] = vector.element[j];
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

int64_t CeilDivide(int64_t dividend, int64_t divisor) { return (dividend + divisor - 1) / divisor; }

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
    // With large tiles, a small matrix would have too few tiles to keep all SMs busy.
    const int64_t large_tiles = TilesDown() * CeilDivide(columns_, kLargeTileColumns);
    return large_tiles < int64_t{4} * device().sm_count ? Launch<kSmallTileColumns>(set)
                                                        : Launch<kLargeTileColumns>(set);
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

  int64_t TilesDown() const {
    return CeilDivide(rows_ + ExtraRows<T>(rows_), kSegmentBytes / sizeof(T));
  }

  template <int tile_columns>
  Status Launch(int64_t set) {
    const int64_t groups = CeilDivide(TilesDown(), kGroupTiles);
    const dim3 grid(static_cast<unsigned>(CeilDivide(TilesDown(), groups)),
                    static_cast<unsigned>(CeilDivide(columns_, tile_columns)),
                    static_cast<unsigned>(groups));
    return LaunchOverlapping(TransposeKernel<T, tile_columns>, grid, kThreads, 0,
                             device().compute_major >= 9, stream(), Array<const T>(set, 1),
                             Array<T>(set, 0), static_cast<int>(rows_), static_cast<int>(columns_),
                             ExtraRows<T>(rows_));
  }

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
