// Copies matrices to padded matrices, whose rows consist of whole vectors of 16 bytes.
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

// Enqueues on `stream` a copy of the matrices at `from` to larger ones at `to`, whose rows are
// padded with zeros. Each matrix at `to` has `padded_rows` rows of `padded_row_bytes` bytes, which
// must be row_bytes rounded up to a multiple of 16. Extra rows are not written. Both addresses must
// be multiples of 16, and `from` must be readable up to the next multiple of 16.
Status PadMatrices(const StoredMatrices& matrices, const void* from, int64_t padded_rows,
                   int64_t padded_row_bytes, void* to, cudaStream_t stream);

}  // namespace assay
