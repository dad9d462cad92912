// Whether this build's kernels run on a GPU: a build has those of the architectures that it
// was configured for.
#pragma once

#include <cuda_runtime_api.h>

namespace assay {

// Of the GPU that is current. False only if it is of an architecture that no kernel was
// compiled for; errors of other kinds come back from whatever is called next.
bool HasKernelsForGpu();

}  // namespace assay
