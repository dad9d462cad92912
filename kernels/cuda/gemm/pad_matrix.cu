#include <algorithm>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/gemm/pad_matrix.h"

namespace assay {
namespace {

constexpr int kThreads = 256;
constexpr int kVectorBytes = 16;
constexpr int64_t kMaxBlocks = 1 << 16;

// Returns the lowest `bytes` bytes of `word`; all of them if there are fewer.
__device__ uint32_t FirstBytes(uint32_t word, int64_t bytes) {
  return bytes >= 4 ? word : bytes <= 0 ? 0 : word & ((1U << (8 * bytes)) - 1);
}

// Copies one vector per thread at a time. It lies in two aligned vectors of the source, which are
// shifted by the words and bytes that the row's address is beyond a multiple of 16.
__global__ void __launch_bounds__(kThreads)
    PadKernel(StoredMatrices matrices, const char* from, int64_t padded_rows,
              int64_t padded_row_bytes, char* to) {
  const int64_t row_vectors = padded_row_bytes / kVectorBytes;
  const int64_t count = matrices.count * matrices.rows * row_vectors;
  const int64_t step = int64_t{gridDim.x} * kThreads;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    const int64_t row = i / row_vectors;  // Of all matrices.
    const int64_t first = i % row_vectors * kVectorBytes;
    const int64_t left = matrices.row_bytes - first;
    const int64_t begin = row * matrices.row_bytes + first;
    const int64_t aligned = begin / kVectorBytes * kVectorBytes;
    const auto beyond = static_cast<unsigned>(begin - aligned);
    const uint4 low = __ldg(reinterpret_cast<const uint4*>(from + aligned));
    uint4 high{};
    if (beyond + min(left, int64_t{kVectorBytes}) > kVectorBytes) {
      high = __ldg(reinterpret_cast<const uint4*>(from + aligned + kVectorBytes));
    }
    uint32_t word[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int words = 1; words <= 2; words *= 2) {
      if ((beyond / 4 & words) == 0) continue;
#pragma unroll
      for (int w = 0; w + words < 8; ++w) word[w] = word[w + words];
    }
    const unsigned bits = beyond % 4 * 8;
    uint32_t result[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      result[w] = FirstBytes(__funnelshift_r(word[w], word[w + 1], bits), left - 4 * w);
    }
    const int64_t to_row = row / matrices.rows * padded_rows + row % matrices.rows;
    *reinterpret_cast<uint4*>(to + to_row * padded_row_bytes + first) =
        make_uint4(result[0], result[1], result[2], result[3]);
  }
}

}  // namespace

Status PadMatrices(const StoredMatrices& matrices, const void* from, int64_t padded_rows,
                   int64_t padded_row_bytes, void* to, cudaStream_t stream) {
  const int64_t vectors = matrices.count * matrices.rows * (padded_row_bytes / kVectorBytes);
  const int64_t blocks = std::min((vectors + kThreads - 1) / kThreads, kMaxBlocks);
  PadKernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      matrices, static_cast<const char*>(from), padded_rows, padded_row_bytes,
      static_cast<char*>(to));
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

}  // namespace assay
