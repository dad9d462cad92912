// Whose fault a failed case is: its own, or the GPU's that it ran on, or should have.
#pragma once

#include "common/status.h"
#include "kernels/platform.h"

namespace assay {

// OK if the case itself is to blame for `failure`, an error of work on a GPU. Else
// UNAVAILABLE with what was seen in the message, and the reason
//   GPU_LOST          the GPU fell off the bus or needs a reset,
//   GPU_BUSY          others' processes hold memory without which the case would have
//                     fitted, or have closed the GPU. A case that would not have fitted
//                     beside nobody either is to blame itself,
//   GPU_CONTEXT_LOST  the case is to blame, but CUDA refuses all further work of this
//                     process: the next case needs another.
Status NodeFault(const Status& failure, const GpuTrouble& trouble);

// UNAVAILABLE (GPU_UNUSABLE) with what is wrong and what would be right if `platform` has
// GPUs that cannot be used. OK if they can, and if there are none (`platform` may be null):
// then benchmarks are unsupported.
Status CheckGpusUsable(GpuPlatform* platform);

}  // namespace assay
