// A piece of a matrix row as a group of threads holds it: the owner of each 16-byte vector, and the
// elements of a vector that lie outside the piece. Rows may have any length and alignment: a piece
// starts at the vector that holds its first element and ends with the one that holds its last.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/rows/row_vector.cuh"

namespace assay {

// One thread's vectors of elements [begin, begin + length) of an array that is aligned to 16 bytes.
// Vector v of lane l is vector (v * kGroup + l) of the piece. kAligned: begin and length are
// multiples of the vector length, so a vector is either inside or outside as a whole.
template <typename T, int kGroup, int kVectors, bool kAligned>
class RowPiece {
 public:
  static constexpr int kLength = Vector<T>::kLength;  // Elements per vector.
  static constexpr int kElements = kVectors * kLength;
  static constexpr int kLanes = kGroup < 32 ? kGroup : 32;  // Lanes of a group in one warp.

  __device__ RowPiece(int64_t begin, int length, int lane) : length_(length) {
    // A piece without elements contains no vector.
    const int before = kAligned || length == 0 ? 0 : static_cast<int>(begin % kLength);
    first_ = lane * kLength - before;
    at_ = begin + first_;
  }

  // Returns the start of vector v in the array, always a multiple of kLength, or in the piece,
  // where it may be negative.
  __device__ int64_t At(int v) const { return at_ + v * kGroup * kLength; }
  __device__ int Column(int v) const { return first_ + v * kGroup * kLength; }

  // Return true if element i, any element, or every element of vector v belongs to the piece.
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

  // Returns the number of elements of the piece that this thread's kLanes neighbouring lanes hold.
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

  // Sets the elements that do not belong to the piece.
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

// Return the sum and the maximum over `kLanes` neighbouring lanes, a power of two up to 32, in
// every lane. Whole warps must call them.
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

// Merges the partial results of the warps of a block of `kThreads` threads, a power of two.
// `scratch` holds one result per warp; no thread may still be reading it.
template <typename Op, int kThreads>
__device__ typename Op::Partial MergeWarps(typename Op::Partial partial,
                                           typename Op::Partial* scratch) {
  constexpr int kWarps = kThreads / 32;
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = partial;
  __syncthreads();
  return Op::template Merge<kWarps>(scratch[threadIdx.x % kWarps]);
}

}  // namespace assay
