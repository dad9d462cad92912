// Kernels that reduce each row of a matrix to a few numbers and use these to transform the row:
// softmax, layernorm and rmsnorm. In between, the row stays in registers. A class Op defines the
// benchmark:
//   Partial         the result of reducing some elements: a struct of floats
//   Summarise       reduces the elements of a warp or of a smaller group of lanes, and may prepare
//                   them for Finish
//   Merge, Combine  merge the Partials of neighboring lanes, or two Partials
//   ScaleOf         computes the input of Finish from the Partials of the warp and of the row
//   Finish          computes an element of the result, using gamma and beta if the Op has them
#pragma once

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cuda/frame/hopper.cuh"
#include "kernels/cuda/frame/vector.cuh"

namespace assay {

// Loads 16 bytes that no thread writes while the kernel runs. Does not keep the data in the L1
// cache, which leaves more room there for the weights.
template <typename T>
__device__ Vector<T> LoadOnce(const T* from) {
  uint4 bits;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "l"(from));
  Vector<T> vector;
  memcpy(&vector, &bits, sizeof vector);
  return vector;
}

// Stores 16 bytes with a hint to evict them first from the L2 cache, so that they are written to
// memory early, while other rows are still being read. On an H200, normalizing 8192 x 8192 bf16
// elements takes 68.0 us with this hint and 72.5 us without it.
template <typename T>
__device__ void StoreOnce(T* to, const Vector<T>& vector) {
  uint4 bits;
  memcpy(&bits, &vector, sizeof bits);
  __stcs(reinterpret_cast<uint4*>(to), bits);
}

// Converts a vector to fp32. For bf16, which is the upper half of fp32, this takes one instruction
// per element.
template <typename T>
__device__ void WidenVector(const Vector<T>& vector, float* x) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    uint32_t pairs[4];
    memcpy(pairs, &vector, sizeof pairs);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x[2 * i] = __uint_as_float(pairs[i] << 16);
      x[2 * i + 1] = __uint_as_float(pairs[i] & 0xffff0000);
    }
  } else {
#pragma unroll
    for (int i = 0; i < Vector<T>::kLength; ++i) x[i] = static_cast<float>(vector.element[i]);
  }
}

// Converts several vectors to fp32.
template <typename T, int kVectors>
__device__ void WidenVectors(const Vector<T> (&vectors)[kVectors],
                             float (&x)[kVectors * Vector<T>::kLength]) {
#pragma unroll
  for (int v = 0; v < kVectors; ++v) WidenVector(vectors[v], x + v * Vector<T>::kLength);
}

// Converts fp32 elements to a vector of T. Rounds to nearest even, two elements per instruction.
template <typename T>
__device__ Vector<T> NarrowVector(const float (&x)[Vector<T>::kLength]) {
  Vector<T> vector;
  if constexpr (std::is_same_v<T, float>) {
    memcpy(&vector, x, sizeof vector);
  } else {
    using Pair = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
    Pair pairs[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (std::is_same_v<T, __half>) {
        pairs[i] = __floats2half2_rn(x[2 * i], x[2 * i + 1]);
      } else {
        pairs[i] = __floats2bfloat162_rn(x[2 * i], x[2 * i + 1]);
      }
    }
    memcpy(&vector, pairs, sizeof vector);
  }
  return vector;
}

// Return the sum or the maximum of `value` over kLanes neighboring lanes, all of which receive the
// result. kLanes is a power of two up to 32. All lanes of a warp must call these functions
// together.
template <int kLanes>
__device__ float SumLanes(float value) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    value += __shfl_xor_sync(0xffffffff, value, mask);
  }
  return value;
}
template <int kLanes>
__device__ float MaxLanes(float value) {
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, mask));
  }
  return value;
}

// One thread's share of a piece of a row. The piece consists of elements [begin, begin + length) of
// a 16-byte-aligned array. It is divided among kGroup threads in vectors of 16 bytes: vector v of
// thread l is vector v * kGroup + l of the piece. Rows may have any length, so a piece may begin or
// end within a vector. If kAligned, begin and length must be multiples of the vector length.
template <typename T, int kGroup, int kVectors, bool kAligned>
class RowPiece {
 public:
  static constexpr bool kAlignedVectors = kAligned;
  static constexpr int kLength = Vector<T>::kLength;  // Elements per vector.
  static constexpr int kElements = kVectors * kLength;
  static constexpr int kLanes = kGroup < 32 ? kGroup : 32;  // Lanes of a group in one warp.

  __device__ RowPiece(int64_t begin, int length, int lane) : length_(length) {
    // A piece without elements contains no vector.
    const int before = kAligned || length == 0 ? 0 : static_cast<int>(begin % kLength);
    first_ = lane * kLength - before;
    at_ = begin + first_;
  }

  // Return the position of the first element of vector v. At() returns its index in the array,
  // always a multiple of kLength. Column() returns its index in the piece, which may be negative.
  __device__ int64_t At(int v) const { return at_ + v * kGroup * kLength; }
  __device__ int Column(int v) const { return first_ + v * kGroup * kLength; }

  // Return true if the piece contains element i, any element, or every element of vector v.
  __device__ bool Has(int v, int i) const {
    if (kAligned) return HasAny(v);
    return Column(v) + i >= 0 && Column(v) + i < length_;
  }
  __device__ bool HasAny(int v) const {
    return Column(v) < length_ && (kAligned || Column(v) > -kLength);
  }
  __device__ bool HasAll(int v) const {
    if (kAligned) return HasAny(v);
    return Column(v) >= 0 && Column(v) + kLength <= length_;
  }

  // Returns how many elements of the piece the lanes of the group in this thread's warp hold.
  __device__ int Count() const {
    const int begin = first_ - static_cast<int>(threadIdx.x) % kLanes * kLength;
    int count = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int from = begin + v * kGroup * kLength;
      count += max(0, min(from + kLanes * kLength, length_) - max(from, 0));
    }
    return count;
  }

  // Return the total over the lanes of the group that are in this thread's warp.
  __device__ static float Sum(float value) { return SumLanes<kLanes>(value); }
  __device__ static float Max(float value) { return MaxLanes<kLanes>(value); }

  // Sets to 0 the elements that share a vector with this piece but belong to neighboring pieces.
  // All elements outside the piece are then 0, because LoadPiece() has already zeroed the vectors
  // that lie outside it.
  __device__ void ClearNeighbors(float (&x)[kElements]) const {
    if (!kAligned) SetOutside(x, 0);
  }

  // Sets the elements that do not belong to the piece to `value`.
  __device__ void SetOutside(float (&x)[kElements], float value) const {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (HasAll(v)) continue;
#pragma unroll
      for (int i = 0; i < kLength; ++i) {
        if (!Has(v, i)) x[v * kLength + i] = value;
      }
    }
  }

  // Writes those elements of vector v that belong to the piece.
  __device__ void Store(T* out, int v, const Vector<T>& vector) const {
    if (HasAll(v)) {
      StoreOnce(out + At(v), vector);
    } else if (!kAligned) {
#pragma unroll
      for (int i = 0; i < kLength; ++i) {
        if (Has(v, i)) out[At(v) + i] = vector.element[i];
      }
    }
  }

 private:
  int64_t at_;
  int first_;
  int length_;
};

// Merges the kCount results (at most 32) in `partials` and returns the total to every lane. All
// lanes of a warp must call this function.
template <typename Op, int kCount>
__device__ typename Op::Partial MergeAll(const typename Op::Partial* partials) {
  constexpr int kLanes = kCount > 16 ? 32 : kCount > 8 ? 16 : kCount > 4 ? 8 : kCount > 2 ? 4 : 2;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  return Op::template Merge<kLanes>(lane < kCount ? partials[lane] : Op::None());
}

// Merges the partial results of all warps of a block of kThreads threads and returns the total to
// every thread. `scratch` is shared memory with room for one result per warp. No thread may still
// be reading it when this function is called.
template <typename Op, int kThreads>
__device__ typename Op::Partial MergeWarps(typename Op::Partial partial,
                                           typename Op::Partial* scratch) {
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = partial;
  __syncthreads();
  return MergeAll<Op, kThreads / 32>(scratch);
}

// Arguments of a row kernel: a contiguous rows x columns matrix, the location of the result, and
// the weights. Arrays must be aligned to 16 bytes and readable up to the next multiple of 16 bytes.
template <typename T>
struct RowArgs {
  const T* in = nullptr;
  T* out = nullptr;
  const T* weights[2] = {};  // Arrays of `columns` elements, as many as the Op has.
  int64_t rows = 0;
  int64_t columns = 0;
};

// Returns how many blocks of `threads` threads must fit on an SM at once for their loads to keep
// the memory busy. The compiler then limits registers to 56 or 64 per thread, enough to hold a row
// without spilling.
constexpr int RowBlocksPerSm(int threads) { return threads < 1024 ? 1152 / threads : 1; }

// Reads the elements of this thread's vectors into `x`. Vectors outside the piece are read as
// zeros.
template <typename T, typename Piece>
__device__ void LoadPiece(const T* in, const Piece& piece, float (&x)[Piece::kElements]) {
  constexpr int kLength = Vector<T>::kLength;
  Vector<T> vectors[Piece::kElements / kLength];
#pragma unroll
  for (int v = 0; v < Piece::kElements / kLength; ++v) {
    vectors[v] = {};
    if (piece.HasAny(v)) vectors[v] = LoadOnce(in + piece.At(v));
  }
  WidenVectors(vectors, x);
}

// An integer type of kBytes bytes.
template <int kBytes>
using BitsOf = std::conditional_t<
    kBytes == 16, uint4,
    std::conditional_t<kBytes == 8, uint2,
                       std::conditional_t<kBytes == 4, uint32_t, unsigned short>>>;

// Reads the weights (gamma or beta) for vector v of a piece into `x`. The piece starts at the row's
// `first_column`. Each load reads kUnit weights, so the vector's first column must be a multiple of
// kUnit.
template <int kUnit, typename T, typename Piece>
__device__ void LoadWeights(const T* weights, const Piece& piece, int v, int64_t first_column,
                            float (&x)[Vector<T>::kLength]) {
  using Bits = BitsOf<kUnit* static_cast<int>(sizeof(T))>;
  const T* const from = weights + first_column + piece.Column(v);
  Bits units[Vector<T>::kLength / kUnit];
#pragma unroll
  for (int i = 0; i < Vector<T>::kLength / kUnit; ++i) {
    units[i] = {};
    // Read-only loads, so that the compiler may move them before the stores of other vectors.
    if (piece.Has(v, i * kUnit)) units[i] = __ldg(reinterpret_cast<const Bits*>(from) + i);
  }
  Vector<T> vector;
  memcpy(&vector, units, sizeof vector);
  WidenVector(vector, x);
}

// Does what FinishPiece() describes, with loads of kUnit weights.
template <typename Op, int kUnit, typename T, typename Piece>
__device__ void FinishVectors(const RowArgs<T>& args, const Piece& piece, int64_t first_column,
                              const typename Op::Scale& scale, const float (&x)[Piece::kElements]) {
  constexpr int kLength = Vector<T>::kLength;
#pragma unroll
  for (int v = 0; v < Piece::kElements / kLength; ++v) {
    if (!piece.HasAny(v)) continue;
    float gamma[kLength] = {};
    float beta[kLength] = {};
    if constexpr (Op::kWeights > 0) {
      LoadWeights<kUnit>(args.weights[0], piece, v, first_column, gamma);
    }
    if constexpr (Op::kWeights > 1) {
      LoadWeights<kUnit>(args.weights[1], piece, v, first_column, beta);
    }
    float result[kLength];
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      result[i] = Op::Finish(x[v * kLength + i], scale, gamma[i], beta[i]);
    }
    piece.Store(args.out, v, NarrowVector<T>(result));
  }
}

// Computes the results for this thread's elements and writes them to memory. The piece starts at
// column `first_column` of its row, which must be a multiple of the vector length.
template <typename Op, typename T, typename Piece>
__device__ void FinishPiece(const RowArgs<T>& args, const Piece& piece, int64_t first_column,
                            const typename Op::Scale& scale, const float (&x)[Piece::kElements]) {
  if constexpr (Piece::kAlignedVectors || Op::kWeights == 0) {
    FinishVectors<Op, Vector<T>::kLength>(args, piece, first_column, scale, x);
  } else if (piece.Column(0) % 2 == 0) {
    FinishVectors<Op, 2>(args, piece, first_column, scale, x);
  } else {
    FinishVectors<Op, 1>(args, piece, first_column, scale, x);
  }
}

// Processes one row per block. Each thread holds kVectors vectors of the row in registers, so a row
// may have at most kThreads * kVectors vectors, counting partly used ones. On an H200, layernorm of
// 8192 x 8192 bf16 takes 67.7 us with this design, 69.7 us with persistent blocks fed by bulk
// copies, and 72.2 us with a ring of rows in shared memory. A plain copy takes 66.1 us.
template <typename Op, typename T, int kThreads, int kVectors, bool kAligned>
__global__ void __launch_bounds__(kThreads, RowBlocksPerSm(kThreads)) RowKernel(RowArgs<T> args) {
  using Piece = RowPiece<T, kThreads, kVectors, kAligned>;
  __shared__ typename Op::Partial scratch[kThreads / 32];
  const Piece piece(blockIdx.x * args.columns, static_cast<int>(args.columns), threadIdx.x);
  float x[Piece::kElements];
  LoadPiece(args.in, piece, x);
  const typename Op::Partial own = Op::Summarise(x, piece);
  const typename Op::Partial total = MergeWarps<Op, kThreads>(own, scratch);
  FinishPiece<Op>(args, piece, 0, Op::ScaleOf(own, total, args.columns), x);
}

// The maximum number of blocks of a cluster that share a row. Every GPU with clusters supports 8.
inline constexpr int kMostRowBlocks = 8;

// The number of rows that a block of RowClusterKernel reads ahead.
inline constexpr int kRowsAhead = 2;

// Returns how many bytes of dynamic shared memory a block of RowClusterKernel needs.
template <typename T, int kThreads, int kVectors>
constexpr int RowClusterBytes() {
  return kRowsAhead * kThreads * kVectors * static_cast<int>(sizeof(Vector<T>));
}

// Returns how many blocks of RowClusterKernel must fit on an SM at once. With two arrays of
// weights, there are too few registers for as many blocks as RowKernel has.
template <typename Op>
constexpr int RowClusterBlocksPerSm(int threads) {
  return Op::kWeights == 2 && threads == 256 ? 3 : RowBlocksPerSm(threads);
}

// Processes rows that are too long for the registers of one block. A cluster of blocks processes
// one row after another, with each block holding `part` columns of the current row in registers.
// Meanwhile, the same columns of the cluster's next rows are copied to shared memory. `part` is a
// multiple of the vector length. Requires compute capability 9.0.
//
// The blocks of a cluster send each other their results for a row using asynchronous stores,
// because a cluster barrier would also wait until all stores to global memory are visible.
template <typename Op, typename T, int kThreads, int kVectors, bool kAligned>
__global__ void __launch_bounds__(kThreads, RowClusterBlocksPerSm<Op>(kThreads))
    RowClusterKernel(RowArgs<T> args, int part) {
#if __CUDA_ARCH__ >= 900
  using Partial = typename Op::Partial;
  using Piece = RowPiece<T, kThreads, kVectors, kAligned>;
  constexpr int kLength = Piece::kLength;
  extern __shared__ uint4 row_memory[];
  __shared__ uint64_t row_arrived[kRowsAhead];
  // Results of this block's warps, and of all blocks of the cluster. Even-numbered and odd-numbered
  // rows use separate arrays, so that writing the next row's results needs no barrier of its own. A
  // block sends its result for a row only after reading all results for the previous row, so no
  // result overwrites one that has yet to be read.
  __shared__ Partial of_warp[2][kThreads / 32];
  __shared__ Partial of_block[2][kMostRowBlocks];
  __shared__ uint64_t results_arrived[2];
  const cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
  const auto blocks = static_cast<int>(cluster.num_blocks());
  const auto rank = static_cast<int>(cluster.block_rank());
  const int64_t clusters = gridDim.x / blocks;
  const int64_t first_column = int64_t{rank} * part;
  const auto length = static_cast<int>(
      max(int64_t{0}, min(static_cast<int64_t>(part), args.columns - first_column)));
  const auto buffer = [&](int stage) {
    return reinterpret_cast<Vector<T>*>(row_memory) + stage * kThreads * kVectors;
  };
  // Starts to copy this block's part of a row, from the vector that contains its first element.
  const auto load = [&](int64_t row, int stage) {
    const int64_t begin = row * args.columns + first_column;
    const int before = kAligned || length == 0 ? 0 : static_cast<int>(begin % kLength);
    const int bytes =
        (before + length + kLength - 1) / kLength * static_cast<int>(sizeof(Vector<T>));
    hopper::ArriveExpect(row_arrived + stage, bytes);
    if (bytes == 0) return;
    hopper::CopyBytesOnce(buffer(stage), args.in + begin - before, bytes, row_arrived + stage);
  };

  int64_t row = blockIdx.x / blocks;
  const auto thread = static_cast<int>(threadIdx.x);
  if (thread == 0) {
    for (uint64_t& barrier : row_arrived) hopper::InitBarrier(&barrier, 1);
    for (uint64_t& barrier : results_arrived) hopper::InitBarrier(&barrier, 1);
    hopper::FenceBarrierInit();
    for (int stage = 0; stage < kRowsAhead; ++stage) {
      if (row + stage * clusters < args.rows) load(row + stage * clusters, stage);
    }
  }
  if (thread >= blocks && thread < kMostRowBlocks) {
    of_block[0][thread] = of_block[1][thread] = Op::None();
  }
  cluster.sync();  // From here on, blocks may write to each other's shared memory.

#pragma unroll 1
  for (int i = 0; row < args.rows; row += clusters, ++i) {
    const int stage = i % kRowsAhead;
    const Piece piece(row * args.columns + first_column, length, thread);
    Vector<T> vectors[kVectors] = {};
    hopper::WaitBarrier(row_arrived + stage, i / kRowsAhead % 2);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      if (piece.HasAny(v)) vectors[v] = buffer(stage)[v * kThreads + thread];
    }
    float x[Piece::kElements];
    WidenVectors(vectors, x);
    const Partial own = Op::Summarise(x, piece);
    if (thread % 32 == 0) of_warp[i % 2][thread / 32] = own;
    __syncthreads();  // Now all threads have also read the buffer.
    if (thread < 32) {
      const Partial mine = MergeAll<Op, kThreads / 32>(of_warp[i % 2]);
      if (thread == 0) {
        if (row + kRowsAhead * clusters < args.rows) load(row + kRowsAhead * clusters, stage);
        hopper::ArriveExpect(results_arrived + i % 2, blocks * sizeof(Partial));
      }
      if (thread < blocks) {
        hopper::SendToBlock(mine, &of_block[i % 2][rank], results_arrived + i % 2, thread);
      }
    }
    hopper::WaitBarrier(results_arrived + i % 2, i / 2 % 2);
    const Partial total = MergeAll<Op, kMostRowBlocks>(of_block[i % 2]);
    FinishPiece<Op>(args, piece, first_column, Op::ScaleOf(own, total, args.columns), x);
  }
#endif
}

// One chunk of a row that is too long for registers. Each block processes one chunk. Blocks are
// numbered by row and, within a row, by chunk. A chunk is one vector shorter than the kThreads *
// kVectors vectors that a block can hold, because it may start in the middle of a vector and then
// extends into one more vector at its end.
template <typename T, int kThreads, int kVectors, bool kAligned>
class RowChunk {
 public:
  using Piece = RowPiece<T, kThreads, kVectors, kAligned>;
  static constexpr int kColumns = (kThreads * kVectors - 1) * Piece::kLength;

  __host__ __device__ static int64_t Chunks(int64_t columns) {
    return (columns + kColumns - 1) / kColumns;
  }

  __device__ explicit RowChunk(const RowArgs<T>& args)
      : row_(blockIdx.x / Chunks(args.columns)),
        first_column_(blockIdx.x % Chunks(args.columns) * kColumns) {}

  __device__ int64_t row() const { return row_; }
  __device__ int64_t first_column() const { return first_column_; }
  __device__ Piece PieceOf(const RowArgs<T>& args) const {
    const int64_t left = args.columns - first_column_;
    return Piece(row_ * args.columns + first_column_,
                 static_cast<int>(left < kColumns ? left : kColumns), threadIdx.x);
  }

 private:
  int64_t row_;
  int64_t first_column_;
};

// Computes the partial result of one chunk per block. This is the first of two passes.
template <typename Op, typename T, int kThreads, int kVectors, bool kAligned>
__global__ void __launch_bounds__(kThreads)
    ChunkSummaryKernel(RowArgs<T> args, typename Op::Partial* partials) {
  using Chunk = RowChunk<T, kThreads, kVectors, kAligned>;
  __shared__ typename Op::Partial scratch[kThreads / 32];
  const auto piece = Chunk(args).PieceOf(args);
  float x[Chunk::Piece::kElements];
  LoadPiece(args.in, piece, x);
  const typename Op::Partial total = MergeWarps<Op, kThreads>(Op::Summarise(x, piece), scratch);
  if (threadIdx.x == 0) partials[blockIdx.x] = total;
}

// Writes the result for one chunk per block. This second of two passes rereads the chunk and merges
// the partial results that the first pass has computed for its row.
template <typename Op, typename T, int kThreads, int kVectors, bool kAligned>
__global__ void __launch_bounds__(kThreads)
    ChunkFinishKernel(RowArgs<T> args, const typename Op::Partial* partials) {
  using Chunk = RowChunk<T, kThreads, kVectors, kAligned>;
  __shared__ typename Op::Partial scratch[kThreads / 32];
  const Chunk chunk(args);
  const auto piece = chunk.PieceOf(args);
  float x[Chunk::Piece::kElements];
  LoadPiece(args.in, piece, x);
  const typename Op::Partial own = Op::Summarise(x, piece);
  const int64_t chunks = Chunk::Chunks(args.columns);
  typename Op::Partial total = Op::None();
  for (int64_t i = threadIdx.x; i < chunks; i += kThreads) {
    total = Op::Combine(total, partials[chunk.row() * chunks + i]);
  }
  total = MergeWarps<Op, kThreads>(Op::template Merge<32>(total), scratch);
  FinishPiece<Op>(args, piece, chunk.first_column(), Op::ScaleOf(own, total, args.columns), x);
}

}  // namespace assay
