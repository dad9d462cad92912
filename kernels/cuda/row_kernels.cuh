// Kernels that reduce each row of a matrix and transform it by the result: softmax and
// the norms. Op says what is reduced:
//   Partial    what is known of some elements: a struct of floats.
//   Summarise  of a thread's elements, which it may transform for Finish.
//   Combine    of two disjoint sets of elements.
//   ScaleOf    from the thread's own Partial and the whole row's: what Finish needs.
//   Finish     one element of the result, with its weights (gamma, beta), if any.
//
// The whole row stays in registers between the read and the write. What limits such a
// kernel is that nothing is read while a row is reduced: so the next rows are already
// on their way into a ring in shared memory.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/async_copy.cuh"
#include "kernels/cuda/row_piece.cuh"

namespace assay {

// A rows x columns matrix, contiguous, and what becomes of it. Arrays are aligned to
// 16 bytes and readable up to the next multiple of that.
template <typename T>
struct RowArgs {
  const T* in = nullptr;
  T* out = nullptr;
  const T* weights[2] = {};  // Of `columns` elements each, as many as the Op has.
  int64_t rows = 0;
  int64_t columns = 0;
};

// The row that is reduced, and those on their way.
inline constexpr int kRowStages = 2;
// Rows that a group takes. Few, for the GPU to give the next ones to whichever SM is
// free: with an equal share for every SM, an H200 ran as long as its slowest (8192 x
// 8192, fp32: 3.7 TB/s; with two rows 4.0).
inline constexpr int kRowsOfGroup = 2;

// Blocks that have to fit on an SM: what keeps its memory busy, but without spilling.
template <typename Op, typename T>
constexpr int RowBlocksPerSm(int threads, int vectors) {
  const bool small = vectors * Vector<T>::kLength <= 16 && Op::kWeights == 0;
  const int resident = small ? 1536 : Op::kWeights == 2 ? 768 : 1024;
  return resident > threads ? resident / threads : 1;
}

template <typename T, int kElements>
__device__ void Unpack(const Vector<T>& vector, int v, float (&x)[kElements]) {
#pragma unroll
  for (int i = 0; i < Vector<T>::kLength; ++i) {
    x[v * Vector<T>::kLength + i] = static_cast<float>(vector.element[i]);
  }
}

// Makes a thread's elements those of the result and writes them. `first_column` is where
// the piece begins in its row.
template <typename Op, typename T, int kGroup, int kVectors, bool kAligned>
__device__ void FinishPiece(const RowArgs<T>& args,
                            const RowPiece<T, kGroup, kVectors, kAligned>& piece,
                            int64_t first_column, const typename Op::Scale& scale,
                            const float (&x)[kVectors * Vector<T>::kLength]) {
  constexpr int kLength = Vector<T>::kLength;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    if (!piece.HasAny(v)) continue;
    Vector<T> weights[2];
#pragma unroll
    for (int k = 0; k < Op::kWeights; ++k) {
      const T* from = args.weights[k] + first_column + piece.Column(v);
      if (kAligned) {
        weights[k] = *reinterpret_cast<const Vector<T>*>(from);
      } else {
#pragma unroll
        for (int i = 0; i < kLength; ++i) {
          if (piece.Has(v, i)) weights[k].element[i] = from[i];
        }
      }
    }
    Vector<T> result;
#pragma unroll
    for (int i = 0; i < kLength; ++i) {
      const float gamma = Op::kWeights > 0 ? static_cast<float>(weights[0].element[i]) : 1;
      const float beta = Op::kWeights > 1 ? static_cast<float>(weights[1].element[i]) : 0;
      result.element[i] = Narrow<T>(Op::Finish(x[v * kLength + i], scale, gamma, beta));
    }
    piece.Store(args.out, v, result);
  }
}

// A group of kGroup threads a row, of kVectors vectors each, and kRowsOfGroup rows one
// after the other. Dynamic shared memory: kRowStages * kVectors * kThreads vectors. A row
// has at most kGroup * kVectors vectors, parts of vectors counted.
template <typename Op, typename T, int kThreads, int kGroup, int kVectors, bool kAligned>
__global__ void __launch_bounds__(kThreads, RowBlocksPerSm<Op, T>(kThreads, kVectors))
    RowKernel(RowArgs<T> args) {
  using Piece = RowPiece<T, kGroup, kVectors, kAligned>;
  constexpr int kGroups = kThreads / kGroup;
  extern __shared__ uint4 shared_memory[];
  // Each thread reads only what it copied itself, so the ring needs no barrier.
  Vector<T>* const ring = reinterpret_cast<Vector<T>*>(shared_memory) + threadIdx.x;
  __shared__ typename Op::Partial scratch[2][kThreads / 32];
  const auto columns = static_cast<int>(args.columns);
  const int lane = threadIdx.x % kGroup;
  const int64_t first_row = int64_t{blockIdx.x} * kGroups * kRowsOfGroup + threadIdx.x / kGroup;

  // Rows beyond the last have no columns.
  const auto piece_of = [&](int i) {
    const int64_t row = first_row + i * kGroups;
    return Piece(row * columns, row < args.rows ? columns : 0, lane);
  };
  const auto fetch = [&](int i) {
    if (i < kRowsOfGroup) {
      const Piece piece = piece_of(i);
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (piece.HasAny(v)) {
          CopyAsync16(ring + (i % kRowStages * kVectors + v) * kThreads, args.in + piece.At(v));
        }
      }
    }
    CommitCopies();
  };
  for (int i = 0; i < kRowStages - 1; ++i) fetch(i);
    // Unrolled, it would keep the weights of both rows in registers.
#pragma unroll 1
  for (int i = 0; i < kRowsOfGroup; ++i) {
    fetch(i + kRowStages - 1);
    WaitForCopies<kRowStages - 1>();
    const Piece piece = piece_of(i);
    float x[Piece::kElements];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      Unpack(ring[(i % kRowStages * kVectors + v) * kThreads], v, x);
    }
    const typename Op::Partial own = Op::Summarise(x, piece);
    typename Op::Partial total;
    if constexpr (kGroup > 32) {
      // The barrier of the next row comes before the next use of the same half.
      total = CombineBlock<Op, kThreads>(own, scratch[i % 2]);
    } else {
      total = CombineLanes<Op, kGroup>(own);
    }
    FinishPiece<Op>(args, piece, 0, Op::ScaleOf(own, total, args.columns), x);
  }
}

// One chunk of a row that is too long for a block: kThreads * kVectors vectors, but one
// less of columns, so that a chunk that begins inside of a vector fits. Blocks are
// numbered by row, then chunk.
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

  __device__ static void Load(const RowArgs<T>& args, const Piece& piece,
                              float (&x)[Piece::kElements]) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      Vector<T> vector = {};
      if (piece.HasAny(v)) vector = *reinterpret_cast<const Vector<T>*>(args.in + piece.At(v));
      Unpack(vector, v, x);
    }
  }

 private:
  int64_t row_;
  int64_t first_column_;
};

// First pass: a chunk's partial result each block.
template <typename Op, typename T, int kThreads, int kVectors, bool kAligned>
__global__ void __launch_bounds__(kThreads)
    ChunkSummaryKernel(RowArgs<T> args, typename Op::Partial* partials) {
  using Chunk = RowChunk<T, kThreads, kVectors, kAligned>;
  __shared__ typename Op::Partial scratch[kThreads / 32];
  const auto piece = Chunk(args).PieceOf(args);
  float x[Chunk::Piece::kElements];
  Chunk::Load(args, piece, x);
  const typename Op::Partial total = CombineBlock<Op, kThreads>(Op::Summarise(x, piece), scratch);
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
  Chunk::Load(args, piece, x);
  const typename Op::Partial own = Op::Summarise(x, piece);
  const int64_t chunks = Chunk::Chunks(args.columns);
  typename Op::Partial total = Op::None();
  for (int64_t i = threadIdx.x; i < chunks; i += kThreads) {
    total = Op::Combine(total, partials[chunk.row() * chunks + i]);
  }
  total = CombineBlock<Op, kThreads>(total, scratch);
  FinishPiece<Op>(args, piece, chunk.first_column(), Op::ScaleOf(own, total, args.columns), x);
}

}  // namespace assay
