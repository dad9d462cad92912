// Tells whether this build's kernels run on a GPU. A build has kernels for the architectures that
// it was configured for.
#pragma once

#include <cuda_runtime_api.h>

namespace assay {

// Returns false only if the current GPU has an architecture that no kernel was compiled for. Other
// errors are left to the next CUDA call.
bool HasKernelsForGpu();

}  // namespace assay
