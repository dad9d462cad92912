// How rows of one shape are launched on one GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/row_kernels.cuh"

namespace assay {

template <typename Op, typename T>
class RowProgram {
 public:
  // Chooses the smallest group that holds a row in registers, or chunks. The GPU is
  // current.
  Status Plan(const GpuDevice& device, int64_t rows, int64_t columns) {
    rows_ = rows;
    aligned_ = columns % kLength == 0;
    // Vectors that a row touches at most, wherever it begins.
    vectors_ = (columns + (aligned_ ? 0 : kLength - 1) + kLength - 1) / kLength;
    ASSAY_RETURN_IF_ERROR((Try<256, 1, 1>(device)));
    ASSAY_RETURN_IF_ERROR((Try<256, 8, 1>(device)));
    ASSAY_RETURN_IF_ERROR((Try<256, 32, 1>(device)));
    ASSAY_RETURN_IF_ERROR((Try<256, 32, 4>(device)));
    ASSAY_RETURN_IF_ERROR((Try<128, 128, 4>(device)));
    ASSAY_RETURN_IF_ERROR((Try<256, 256, 4>(device)));
    ASSAY_RETURN_IF_ERROR((Try<512, 512, 4>(device)));
    ASSAY_RETURN_IF_ERROR((Try<1024, 1024, 4>(device)));
    if (threads_ != 0) return Status::Ok();
    // Aligned or not, chunks are as long.
    const int64_t blocks = rows * Chunk::Chunks(columns);
    if (blocks > std::numeric_limits<int>::max()) {
      return InvalidArgument(std::to_string(rows) + " rows of " + std::to_string(columns) +
                             " columns are more chunks than a launch has blocks (2^31 - 1)");
    }
    grid_ = static_cast<unsigned>(blocks);
    return Status::Ok();
  }

  // Of the partial results of chunks; 0 if none are needed.
  int64_t WorkspaceBytes() const {
    return kernel_ != nullptr ? 0 : int64_t{grid_} * static_cast<int64_t>(sizeof(Partial));
  }

  Status Enqueue(const RowArgs<T>& args, void* workspace, cudaStream_t stream) const {
    if (kernel_ != nullptr) {
      kernel_<<<grid_, threads_, shared_bytes_, stream>>>(args);
      ASSAY_CUDA(cudaGetLastError());
      return Status::Ok();
    }
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

  // Takes this kernel if none is chosen yet, a row fits and the GPU has the shared memory.
  template <int kThreads, int kGroup, int kVectors>
  Status Try(const GpuDevice& device) {
    constexpr int64_t kSharedBytes =
        int64_t{kRowStages} * kThreads * kVectors * static_cast<int64_t>(sizeof(Vector<T>));
    constexpr int64_t kScratchBytes = 1024;  // At most; static.
    if (threads_ != 0 || vectors_ > int64_t{kGroup} * kVectors ||
        kSharedBytes + kScratchBytes > device.shared_bytes_per_block) {
      return Status::Ok();
    }
    constexpr int64_t kBlockRows = kThreads / kGroup * kRowsOfGroup;
    const int64_t blocks = (rows_ + kBlockRows - 1) / kBlockRows;
    if (blocks > std::numeric_limits<int>::max()) {
      return InvalidArgument(std::to_string(rows_) + " rows need more blocks than a launch has " +
                             "(2^31 - 1)");
    }
    grid_ = static_cast<unsigned>(blocks);
    threads_ = kThreads;
    shared_bytes_ = kSharedBytes;
    kernel_ = aligned_ ? RowKernel<Op, T, kThreads, kGroup, kVectors, true>
                       : RowKernel<Op, T, kThreads, kGroup, kVectors, false>;
    ASSAY_CUDA(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel_),
                                    cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(kSharedBytes)));
    return Status::Ok();
  }

  int64_t rows_ = 0;
  int64_t vectors_ = 0;  // Of a row, at most.
  bool aligned_ = false;
  void (*kernel_)(RowArgs<T>) = nullptr;  // Null: chunks.
  unsigned grid_ = 0;
  unsigned threads_ = 0;
  size_t shared_bytes_ = 0;
};

}  // namespace assay
