// Copies matrices to such sizes as tensor cores load by vectors.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "common/status.h"

namespace assay {

// Sizes of the matrices of a batch, which follow each other without gaps.
struct StoredMatrices {
  int64_t count = 0;
  int64_t rows = 0;
  int64_t row_bytes = 0;

  int64_t Bytes() const { return count * rows * row_bytes; }
};

// Enqueues on `stream` a copy of the matrices at `from` to the larger ones at `to`: `padded_rows`
// rows of `padded_row_bytes` bytes, a multiple of 16 that is less than 16 greater than row_bytes.
// The end of each row becomes zeros. Further rows are not written. `from` and `to` must be
// multiples of 16, and `from` readable up to the next multiple of 16.
Status PadMatrices(const StoredMatrices& matrices, const void* from, int64_t padded_rows,
                   int64_t padded_row_bytes, void* to, cudaStream_t stream);

}  // namespace assay
