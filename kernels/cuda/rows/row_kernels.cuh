// Kernels that reduce each row of a matrix and transform it with the result: softmax and the norms.
// Op defines the reduction:
//   Partial    the partial result of some elements: a struct of floats.
//   Summarise  reduces the elements of a row that a warp's lanes hold, and may transform them
//              for Finish. Every lane gets the result.
//   Merge      merges the partial results of neighbouring lanes, of disjoint sets of elements.
//   Combine    merges two partial results.
//   ScaleOf    computes the input of Finish from the Partial of the warp and of the whole row.
//   Finish     computes one element of the result, with its weights (gamma, beta), if any.
//
// The whole row stays in registers between the read and the write. A block reads nothing while it
// reduces, so other blocks on its SM must. This needs several small blocks of one row each, few
// instructions per element and a single barrier. For layernorm of 8192 x 8192 bf16 an H200 took
// 67.7 us with this design and 66.1 us for a copy of as many bytes. A ring of rows in shared memory
// took at least 72.2 us, persistent blocks fed by bulk copies 69.7 us.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>

#include "kernels/cuda/rows/row_piece.cuh"

namespace assay {

// A contiguous rows x columns matrix and the location of its result. Arrays are aligned to 16 bytes
// and readable up to the next multiple of 16.
template <typename T>
struct RowArgs {
  const T* in = nullptr;
  T* out = nullptr;
  const T* weights[2] = {};  // Arrays of `columns` elements, as many as the Op has.
  int64_t rows = 0;
  int64_t columns = 0;
};

// Blocks that must fit on an SM to keep its memory busy. Each thread then has 64 registers, which
// hold a row without spilling.
constexpr int RowBlocksPerSm(int threads) { return threads < 1024 ? 1024 / threads : 1; }

// Reads a thread's elements; those of vectors outside the piece are zeros.
template <typename T, int kGroup, int kVectors, bool kAligned>
__device__ void LoadPiece(const T* in, const RowPiece<T, kGroup, kVectors, kAligned>& piece,
                          float (&x)[kVectors * Vector<T>::kLength]) {
  Vector<T> vectors[kVectors];
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    vectors[v] = {};
    if (piece.HasAny(v)) vectors[v] = LoadOnce(in + piece.At(v));
  }
#pragma unroll
  for (int v = 0; v < kVectors; ++v) WidenVector(vectors[v], x + v * Vector<T>::kLength);
}

// Returns the weights of vector v of a piece that starts at the row's `first_column`.
template <typename T, int kGroup, int kVectors, bool kAligned>
__device__ void LoadWeights(const T* weights, const RowPiece<T, kGroup, kVectors, kAligned>& piece,
                            int v, int64_t first_column, float (&x)[Vector<T>::kLength]) {
  const T* const from = weights + first_column + piece.Column(v);
  if constexpr (kAligned) {
    // Read-only loads, so that the compiler may move them before the stores of other vectors.
    const uint4 bits = __ldg(reinterpret_cast<const uint4*>(from));
    Vector<T> vector;
    memcpy(&vector, &bits, sizeof vector);
    WidenVector(vector, x);
  } else {
#pragma unroll
    for (int i = 0; i < Vector<T>::kLength; ++i) {
      x[i] = piece.Has(v, i) ? static_cast<float>(from[i]) : 0;
    }
  }
}

// Transforms a thread's elements into those of the result and writes them. The piece starts at
// `first_column` of its row.
template <typename Op, typename T, int kGroup, int kVectors, bool kAligned>
__device__ void FinishPiece(const RowArgs<T>& args,
                            const RowPiece<T, kGroup, kVectors, kAligned>& piece,
                            int64_t first_column, const typename Op::Scale& scale,
                            const float (&x)[kVectors * Vector<T>::kLength]) {
  constexpr int kLength = Vector<T>::kLength;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    if (!piece.HasAny(v)) continue;
    float gamma[kLength] = {};
    float beta[kLength] = {};
    if constexpr (Op::kWeights > 0) LoadWeights(args.weights[0], piece, v, first_column, gamma);
    if constexpr (Op::kWeights > 1) LoadWeights(args.weights[1], piece, v, first_column, beta);
    float result[kLength];
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      result[i] = Op::Finish(x[v * kLength + i], scale, gamma[i], beta[i]);
    }
    piece.Store(args.out, v, NarrowVector<T>(result));
  }
}

// Processes one row per group of kGroup threads with kVectors vectors each. A row has at most
// kGroup * kVectors vectors, counting partial ones.
template <typename Op, typename T, int kThreads, int kGroup, int kVectors, bool kAligned>
__global__ void __launch_bounds__(kThreads, RowBlocksPerSm(kThreads)) RowKernel(RowArgs<T> args) {
  using Piece = RowPiece<T, kGroup, kVectors, kAligned>;
  constexpr int kGroups = kThreads / kGroup;
  __shared__ typename Op::Partial scratch[kThreads / 32];
  const int64_t row = int64_t{blockIdx.x} * kGroups + threadIdx.x / kGroup;
  // Rows beyond the last have no columns.
  const auto columns = row < args.rows ? static_cast<int>(args.columns) : 0;
  const Piece piece(row * args.columns, columns, threadIdx.x % kGroup);
  float x[Piece::kElements];
  LoadPiece(args.in, piece, x);
  const typename Op::Partial own = Op::Summarise(x, piece);
  typename Op::Partial total = own;
  if constexpr (kGroup > 32) total = MergeWarps<Op, kThreads>(own, scratch);
  FinishPiece<Op>(args, piece, 0, Op::ScaleOf(own, total, args.columns), x);
}

// One chunk of a row that is too long for a block: kThreads * kVectors vectors, of which one is
// reserved so that a chunk that starts within a vector fits. Blocks are numbered by row, then
// chunk.
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

// First pass: computes the partial result of one chunk per block.
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

// Second pass: reads the chunk again and writes its result.
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
