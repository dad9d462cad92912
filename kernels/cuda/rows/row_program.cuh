// Selects and launches the kernel for rows of one shape.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <limits>
#include <string>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/rows/row_kernels.cuh"

namespace assay {

template <typename Op, typename T>
class RowProgram {
 public:
  // Chooses the smallest group that holds a row in registers, else chunks.
  Status Plan(int64_t rows, int64_t columns) {
    rows_ = rows;
    aligned_ = columns % kLength == 0;
    // Maximum number of vectors that a row touches, at any alignment.
    vectors_ = (columns + (aligned_ ? 0 : kLength - 1) + kLength - 1) / kLength;
    ASSAY_RETURN_IF_ERROR((Try<256, 1, 1>()));
    ASSAY_RETURN_IF_ERROR((Try<256, 8, 1>()));
    ASSAY_RETURN_IF_ERROR((Try<256, 32, 1>()));
    ASSAY_RETURN_IF_ERROR((Try<256, 32, 4>()));
    ASSAY_RETURN_IF_ERROR((Try<128, 128, 4>()));
    ASSAY_RETURN_IF_ERROR((Try<256, 256, 4>()));
    ASSAY_RETURN_IF_ERROR((Try<512, 512, 4>()));
    ASSAY_RETURN_IF_ERROR((Try<1024, 1024, 4>()));
    if (threads_ != 0) return Status::Ok();
    // Chunks have equal lengths, aligned or not.
    const int64_t blocks = rows * Chunk::Chunks(columns);
    if (blocks > std::numeric_limits<int>::max()) {
      return InvalidArgument(std::to_string(rows) + " rows of " + std::to_string(columns) +
                             " columns are more chunks than a launch has blocks (2^31 - 1)");
    }
    grid_ = static_cast<unsigned>(blocks);
    return Status::Ok();
  }

  // Returns the bytes for the partial results of chunks; 0 if none are needed.
  int64_t WorkspaceBytes() const {
    return kernel_ != nullptr ? 0 : int64_t{grid_} * static_cast<int64_t>(sizeof(Partial));
  }

  Status Enqueue(const RowArgs<T>& args, void* workspace, cudaStream_t stream) const {
    if (kernel_ != nullptr) {
      kernel_<<<grid_, threads_, 0, stream>>>(args);
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

  // Takes this kernel if none has been chosen yet and a row fits.
  template <int kThreads, int kGroup, int kVectors>
  Status Try() {
    if (threads_ != 0 || vectors_ > int64_t{kGroup} * kVectors) return Status::Ok();
    constexpr int64_t kBlockRows = kThreads / kGroup;
    const int64_t blocks = (rows_ + kBlockRows - 1) / kBlockRows;
    if (blocks > std::numeric_limits<int>::max()) {
      return InvalidArgument(std::to_string(rows_) + " rows need more blocks than a launch has " +
                             "(2^31 - 1)");
    }
    grid_ = static_cast<unsigned>(blocks);
    threads_ = kThreads;
    kernel_ = aligned_ ? RowKernel<Op, T, kThreads, kGroup, kVectors, true>
                       : RowKernel<Op, T, kThreads, kGroup, kVectors, false>;
    return Status::Ok();
  }

  int64_t rows_ = 0;
  int64_t vectors_ = 0;  // Maximum per row.
  bool aligned_ = false;
  void (*kernel_)(RowArgs<T>) = nullptr;  // Null: chunks.
  unsigned grid_ = 0;
  unsigned threads_ = 0;
};

}  // namespace assay
