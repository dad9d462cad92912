// Kernels for rows of up to about 1,000 elements. Each row is processed by a group of 1 to 32
// neighboring lanes. The group size is chosen at run time, so that few lanes are idle regardless of
// the row length, and no separate kernel is needed for each size.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/frame/async_copy.cuh"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/vector.cuh"
#include "kernels/cuda/rows/row_kernels.cuh"

namespace assay {

inline constexpr int kShortRowThreads = 256;  // Most threads of a block.

// The lanes that share a row: 2^log_lanes neighboring lanes of one warp.
class LaneGroup {
 public:
  __device__ explicit LaneGroup(int log_lanes)
      : lanes_(1 << log_lanes), lane_(static_cast<int>(threadIdx.x) & (lanes_ - 1)) {}

  __device__ int lanes() const { return lanes_; }
  __device__ int lane() const { return lane_; }

  // Return the sum or the maximum of `value` over the group, all lanes of which receive the result.
  // All lanes of a warp must call these functions together.
  __device__ float Sum(float value) const {
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) {
      if (mask < lanes_) value += __shfl_xor_sync(0xffffffff, value, mask);
    }
    return value;
  }
  __device__ float Max(float value) const {
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) {
      if (mask < lanes_) value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, mask));
    }
    return value;
  }

 private:
  int lanes_;
  int lane_;
};

// The number of lanes that process a row, and the number of the row's units (vectors or elements)
// that each lane holds.
struct LaneShare {
  int log_lanes;
  int units;

  int lanes() const { return 1 << log_lanes; }

  // Divides a row of `units` units among a group of lanes. Returns the smallest group that has
  // - at least `fewest` lanes, unless the row has fewer units;
  // - enough lanes for each to hold at most `most` units, unless this would take more than 32
  //   lanes.
  static LaneShare Of(int64_t units, int64_t fewest, int64_t most) {
    LaneShare share{0, 0};
    while (share.log_lanes < 5 && units > share.lanes() * (share.lanes() < fewest ? 1 : most)) {
      ++share.log_lanes;
    }
    share.units = static_cast<int>((units + share.lanes() - 1) / share.lanes());
    return share;
  }
};

// One lane's share of a row that consists of whole vectors. Vector v of lane l is vector v * lanes
// + l of the row. Only the last of the lane's vectors may be outside the row.
template <typename T, int kVectors>
class VectorPiece : public LaneGroup {
 public:
  static constexpr bool kAlignedVectors = true;
  static constexpr int kLength = Vector<T>::kLength;
  static constexpr int kElements = kVectors * kLength;

  // The row starts at element `begin` of the matrix. If `stores` is false, Store() does nothing.
  __device__ VectorPiece(int64_t begin, int columns, int log_lanes, bool stores)
      : LaneGroup(log_lanes),
        begin_(begin + lane() * kLength),
        columns_(columns),
        stores_(stores),
        last_inside_(Column(kVectors - 1) < columns) {}

  __device__ int64_t At(int v) const { return begin_ + v * lanes() * kLength; }
  __device__ int Column(int v) const { return (lane() + v * lanes()) * kLength; }
  __device__ bool HasAny(int v) const { return v < kVectors - 1 || last_inside_; }
  __device__ bool Has(int v, int) const { return HasAny(v); }
  __device__ int Count() const { return columns_; }

  // Elements outside the row are 0 already, because they share no vector with the row.
  __device__ void ClearNeighbors(float (&)[kElements]) const {}
  __device__ void SetOutside(float (&x)[kElements], float value) const {
#pragma unroll
    for (int i = kElements - kLength; i < kElements; ++i) x[i] = last_inside_ ? x[i] : value;
  }
  __device__ void Store(T* out, int v, const Vector<T>& vector) const {
    if (stores_) StoreOnce(out + At(v), vector);
  }

 private:
  int64_t begin_;
  int columns_;
  bool stores_;
  bool last_inside_;
};

// Limits for VectorRowKernel. A lane holds at most 3 vectors, or 4 if a row has more than 96
// vectors. At least 4 lanes share a row of more than 2 vectors, so that they read whole sectors of
// memory.
inline constexpr int kMostRowVectors = 128;
inline LaneShare ShareVectors(int64_t vectors) { return LaneShare::Of(vectors, 4, 3); }

// Returns how many blocks of kShortRowThreads threads must fit on an SM to keep at least 32 KB of
// loads in flight.
constexpr int VectorRowBlocks(int vectors) { return vectors == 1 ? 8 : vectors == 2 ? 5 : 4; }

// Processes one row per group of lanes. The number of columns must be a multiple of the vector
// length. kVectors and log_lanes must be the values that ShareVectors() returns.
template <typename Op, typename T, int kVectors>
__global__ void __launch_bounds__(kShortRowThreads, VectorRowBlocks(kVectors))
    VectorRowKernel(RowArgs<T> args, int log_lanes) {
  using Piece = VectorPiece<T, kVectors>;
  const int64_t row = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) >> log_lanes;
  // Groups of lanes without a row also compute the last row, but do not store it, which is cheaper
  // than checking before each vector.
  const Piece piece(min(row, args.rows - 1) * args.columns, static_cast<int>(args.columns),
                    log_lanes, row < args.rows);
  float x[Piece::kElements];
  LoadPiece(args.in, piece, x);
  const typename Op::Partial total = Op::Summarise(x, piece);
  FinishPiece<Op>(args, piece, 0, Op::ScaleOf(total, total, args.columns), x);
}

// One lane's share of a row of any length: element i of lane l is column i * lanes + l. The first
// kComplete elements of each lane must be in the row.
template <int kElementsPerLane, int kComplete>
class ElementPiece : public LaneGroup {
 public:
  static constexpr int kElements = kElementsPerLane;

  __device__ ElementPiece(int columns, int log_lanes)
      : LaneGroup(log_lanes),
        columns_(columns),
        elements_(((columns - lane() - 1) >> log_lanes) + 1) {}

  __device__ bool Has(int i) const { return i < kComplete || i < elements_; }
  __device__ int Count() const { return columns_; }

  // Elements outside the row are 0 already.
  __device__ void ClearNeighbors(float (&)[kElements]) const {}
  __device__ void SetOutside(float (&x)[kElements], float value) const {
#pragma unroll
    for (int i = kComplete; i < kElements; ++i) x[i] = Has(i) ? x[i] : value;
  }

 private:
  int columns_;
  int elements_;  // Columns of this lane.
};

// Limits for TileRowKernel. A lane holds at most 24 elements, or 32 if the row is too long for 32
// lanes with 24 elements each.
inline constexpr int kMostTileColumns = 1024;
inline LaneShare ShareElements(int64_t columns) { return LaneShare::Of(columns, 1, 24); }

// The rows that a block of TileRowKernel processes. They are consecutive in memory and form a tile,
// which the block keeps in shared memory, followed by the weights. The tile may begin and end
// within a vector of 16 bytes; all other vectors are read and written whole.
template <typename T>
struct RowTile {
  static constexpr int kLength = Vector<T>::kLength;

  // Returns the maximum number of vectors that `rows` rows touch, at any alignment.
  __host__ __device__ static int Vectors(int rows, int columns) {
    return (rows * columns + 2 * (kLength - 1)) / kLength;
  }
  static int64_t SharedBytes(int rows, int columns, int weights) {
    return int64_t{Vectors(rows, columns)} * 16 + int64_t{columns} * weights * 4;
  }

  __device__ RowTile(const RowArgs<T>& args, int most_rows) {
    const int64_t first_row = int64_t{blockIdx.x} * most_rows;
    rows = static_cast<int>(min(int64_t{most_rows}, args.rows - first_row));
    const int64_t first = first_row * args.columns;
    begin = static_cast<int>(first % kLength);
    origin = first - begin;
    end = begin + rows * static_cast<int>(args.columns);
  }

  __device__ int vectors() const { return (end + kLength - 1) / kLength; }

  __device__ void StartLoad(const T* in, Vector<T>* shared) const {
    for (int v = static_cast<int>(threadIdx.x); v < vectors(); v += static_cast<int>(blockDim.x)) {
      CopyAsync16(shared + v, in + origin + v * kLength);
    }
  }

  // Writes the tile to `out`. The first and the last vector may also contain elements of other
  // blocks' tiles, so only this tile's elements are written.
  __device__ void Store(T* out, const Vector<T>* shared) const {
    for (int v = static_cast<int>(threadIdx.x); v < vectors(); v += static_cast<int>(blockDim.x)) {
      const int at = v * kLength;
      if (at >= begin && at + kLength <= end) {
        StoreOnce(out + origin + at, shared[v]);
      } else {
        for (int i = max(at, begin); i < min(at + kLength, end); ++i) {
          out[origin + i] = shared[v].element[i - at];
        }
      }
    }
  }

  int64_t origin = 0;  // Index in the matrix of the tile's first vector.
  int begin = 0;       // Index in the tile of the first row's first element.
  int end = 0;
  int rows = 0;
};

// The weights of one column (gamma and beta), as fp32.
template <int kWeights>
struct alignas(4 * kWeights) ColumnWeights {
  float value[kWeights];
};
template <>
struct ColumnWeights<0> {};

// Returns the object at a byte offset in the dynamic shared memory of the block.
template <typename T>
__device__ T& SharedAt(int offset) {
  extern __shared__ uint4 row_tile_memory[];
  return *reinterpret_cast<T*>(reinterpret_cast<char*>(row_tile_memory) + offset);
}

// Adds `step` to `offset` in inline assembly, to hide the addition from the compiler. Otherwise the
// compiler might replace this one addition per element with a multiplication and an addition.
__device__ inline void Advance(int* offset, int step) {
  asm("add.s32 %0, %0, %1;" : "+r"(*offset) : "r"(step));
}

// Processes one tile of rows per block and one row per group of lanes. Rows may have any length and
// alignment. Global memory is read and written in whole vectors. In shared memory, neighboring
// lanes access neighboring elements, so there are no bank conflicts, regardless of where rows
// begin. kElements, kComplete and log_lanes must be the values that ShortRowProgram chooses.
template <typename Op, typename T, int kElements, int kComplete>
__global__ void __launch_bounds__(kShortRowThreads, RowBlocksPerSm(kShortRowThreads))
    TileRowKernel(RowArgs<T> args, int log_lanes) {
  const auto columns = static_cast<int>(args.columns);
  const int most_rows = static_cast<int>(blockDim.x) >> log_lanes;
  const RowTile<T> tile(args, most_rows);
  auto* const shared = &SharedAt<Vector<T>>(0);
  using Weights = ColumnWeights<Op::kWeights>;
  const int weights_offset = RowTile<T>::Vectors(most_rows, columns) * 16;
  auto* const weights = &SharedAt<Weights>(weights_offset);
  tile.StartLoad(args.in, shared);
  CommitCopies();
  if constexpr (Op::kWeights > 0) {
    for (int c = static_cast<int>(threadIdx.x); c < columns; c += static_cast<int>(blockDim.x)) {
#pragma unroll
      for (int w = 0; w < Op::kWeights; ++w) {
        weights[c].value[w] = static_cast<float>(__ldg(args.weights[w] + c));
      }
    }
  }
  WaitForCopies<0>();
  __syncthreads();
  const ElementPiece<kElements, kComplete> piece(columns, log_lanes);
  const int row = static_cast<int>(threadIdx.x) >> log_lanes;
  const int element_offset =
      (tile.begin + row * columns + piece.lane()) * static_cast<int>(sizeof(T));
  const int element_step = piece.lanes() * static_cast<int>(sizeof(T));
  float x[kElements];
  int offset = element_offset;
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    x[i] = piece.Has(i) ? static_cast<float>(SharedAt<T>(offset)) : 0;
    Advance(&offset, element_step);
  }
  const typename Op::Partial total = Op::Summarise(x, piece);
  const typename Op::Scale scale = Op::ScaleOf(total, total, args.columns);
  // Compute all results before storing any, so that the compiler can issue the loads of all weights
  // without waiting for stores in between.
  const int weights_step = piece.lanes() * static_cast<int>(sizeof(Weights));
  offset = weights_offset + piece.lane() * static_cast<int>(sizeof(Weights));
#pragma unroll
  for (int i = 0; i < kElements; ++i) {
    float gamma = 0;
    float beta = 0;
    if constexpr (Op::kWeights > 0) {
      Weights of_column = {};
      if (piece.Has(i)) of_column = SharedAt<Weights>(offset);
      Advance(&offset, weights_step);
      gamma = of_column.value[0];
      if constexpr (Op::kWeights > 1) beta = of_column.value[1];
    }
    x[i] = Op::Finish(x[i], scale, gamma, beta);
  }
  // Groups without a row have computed with whatever was in shared memory, so they store nothing.
  if (row < tile.rows) {
    offset = element_offset;
#pragma unroll
    for (int i = 0; i < kElements; ++i) {
      if (piece.Has(i)) SharedAt<T>(offset) = Narrow<T>(x[i]);
      Advance(&offset, element_step);
    }
  }
  __syncthreads();
  tile.Store(args.out, shared);
}

// Chooses a kernel of this file for rows of one shape, and launches it.
template <typename Op, typename T>
class ShortRowProgram {
 public:
  // Chooses the kernel for the rows. Returns false if no kernel in this file can process them.
  // Before calling Launch, the caller must check that blocks() is at most 2^31 - 1.
  bool Plan(int64_t rows, int64_t columns) {
    const bool aligned = columns % Vector<T>::kLength == 0;
    if (!(aligned ? PlanVectors(columns / Vector<T>::kLength) : PlanTiles(columns))) return false;
    // Smaller blocks spread a small matrix over all SMs, but blocks of TileRowKernel have at least
    // 128 threads, because each block reads all weights.
    const int fewest_threads = aligned ? 64 : 128;
    threads_ = kShortRowThreads;
    while (threads_ > fewest_threads && Blocks(rows) < kFewBlocks) threads_ /= 2;
    blocks_ = Blocks(rows);
    if (!aligned) {
      shared_bytes_ = static_cast<size_t>(
          RowTile<T>::SharedBytes(threads_ >> log_lanes_, static_cast<int>(columns), Op::kWeights));
    }
    return true;
  }

  int64_t blocks() const { return blocks_; }

  void Launch(const RowArgs<T>& args, cudaStream_t stream) const {
    kernel_<<<static_cast<unsigned>(blocks_), static_cast<unsigned>(threads_), shared_bytes_,
              stream>>>(args, log_lanes_);
  }

 private:
  static constexpr int64_t kFewBlocks = 1024;

  int64_t Blocks(int64_t rows) const {
    const int64_t per_block = threads_ >> log_lanes_;
    return (rows + per_block - 1) / per_block;
  }

  bool PlanVectors(int64_t vectors) {
    if (vectors > kMostRowVectors) return false;
    const LaneShare share = ShareVectors(vectors);
    log_lanes_ = share.log_lanes;
    kernel_ = share.units == 1   ? VectorRowKernel<Op, T, 1>
              : share.units == 2 ? VectorRowKernel<Op, T, 2>
              : share.units == 3 ? VectorRowKernel<Op, T, 3>
                                 : VectorRowKernel<Op, T, 4>;
    return true;
  }

  // Chooses the kernel by the largest number of elements per lane. For rows of more than 12
  // columns, this number exceeds 12: otherwise half as many lanes would suffice, since a lane can
  // hold 24 elements.
  bool PlanTiles(int64_t columns) {
    if (columns > kMostTileColumns) return false;
    const LaneShare share = ShareElements(columns);
    log_lanes_ = share.log_lanes;
    kernel_ = share.units <= 12   ? TileRowKernel<Op, T, 12, 0>
              : share.units <= 16 ? TileRowKernel<Op, T, 16, 12>
              : share.units <= 24 ? TileRowKernel<Op, T, 24, 16>
                                  : TileRowKernel<Op, T, 32, 24>;
    return true;
  }

  void (*kernel_)(RowArgs<T>, int) = nullptr;
  int log_lanes_ = 0;
  int threads_ = 0;
  int64_t blocks_ = 0;
  size_t shared_bytes_ = 0;
};

}  // namespace assay
