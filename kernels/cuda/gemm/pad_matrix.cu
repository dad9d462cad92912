#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/gemm/pad_matrix.h"

namespace assay {
namespace {

constexpr int kThreads = 256;
constexpr int kVectorBytes = 16;

// Returns `word` with all but its lowest `bytes` bytes cleared. `bytes` may be negative or above 4.
__device__ uint32_t FirstBytes(uint32_t word, int64_t bytes) {
  return bytes >= 4 ? word : bytes <= 0 ? 0 : word & ((1U << (8 * bytes)) - 1);
}

// Returns the 16 bytes at `from` + `begin`, with zeros after the first `left` bytes. `from` must be
// a multiple of 16, but `begin` does not have to be: the function reads the one or two aligned
// vectors that contain the bytes, and shifts the bytes into place.
__device__ uint4 LoadUnaligned(const char* from, int64_t begin, int64_t left) {
  const auto beyond = static_cast<unsigned>(begin % kVectorBytes);
  const char* const aligned = from + (begin - beyond);
  const uint4 low = __ldg(reinterpret_cast<const uint4*>(aligned));
  uint4 high{};
  if (beyond + min(left, int64_t{kVectorBytes}) > kVectorBytes) {
    high = __ldg(reinterpret_cast<const uint4*>(aligned + kVectorBytes));
  }
  uint32_t word[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
  for (int words = 1; words <= 2; words *= 2) {
    if ((beyond / 4 & words) == 0) continue;
#pragma unroll
    for (int w = 0; w + words < 8; ++w) word[w] = word[w + words];
  }
  const unsigned bits = beyond % 4 * 8;
  return make_uint4(FirstBytes(__funnelshift_r(word[0], word[1], bits), left),
                    FirstBytes(__funnelshift_r(word[1], word[2], bits), left - 4),
                    FirstBytes(__funnelshift_r(word[2], word[3], bits), left - 8),
                    FirstBytes(__funnelshift_r(word[3], word[4], bits), left - 12));
}

// Copies one row per group of `lanes` threads. `lanes` is a power of two that divides kThreads.
__global__ void __launch_bounds__(kThreads)
    PadKernel(StoredMatrices matrices, const char* from, int64_t padded_rows,
              int64_t padded_row_bytes, char* to, int lanes) {
  const int64_t row =  // Of all matrices.
      int64_t{blockIdx.x} * (kThreads / lanes) + static_cast<int>(threadIdx.x) / lanes;
  if (row >= matrices.count * matrices.rows) return;
  const int64_t first = row * matrices.row_bytes;
  char* const to_row =
      to + (row / matrices.rows * padded_rows + row % matrices.rows) * padded_row_bytes;
  const int64_t step = int64_t{lanes} * kVectorBytes;
#pragma unroll 4
  for (int64_t at = static_cast<int>(threadIdx.x) % lanes * int64_t{kVectorBytes};
       at < padded_row_bytes; at += step) {
    *reinterpret_cast<uint4*>(to_row + at) =
        LoadUnaligned(from, first + at, matrices.row_bytes - at);
  }
}

}  // namespace

Status PadMatrices(const StoredMatrices& matrices, const void* from, int64_t padded_rows,
                   int64_t padded_row_bytes, void* to, cudaStream_t stream) {
  int lanes = 1;
  while (lanes < kThreads && lanes * kVectorBytes < padded_row_bytes) lanes *= 2;
  const int64_t block_rows = kThreads / lanes;
  const int64_t blocks = (matrices.count * matrices.rows + block_rows - 1) / block_rows;
  PadKernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      matrices, static_cast<const char*>(from), padded_rows, padded_row_bytes,
      static_cast<char*>(to), lanes);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

}  // namespace assay
