// Makes the calls of NCCL that perform a collective.
#pragma once

#include <cuda_runtime_api.h>

#include "common/status.h"
#include "kernels/nccl/collective.h"
#include "kernels/nccl/communicator.h"

namespace assay {

// The arguments of a call to an NCCL collective on one rank. Does not own the buffers. NCCL rejects
// null pointers, so both must point to GPU memory even if this rank has no input or output.
struct CollectiveCall {
  CollectivePlace place;
  const void* input = nullptr;
  void* output = nullptr;
  ncclDataType_t type = ncclFloat;
  int64_t element_bytes = 4;
  ncclRedOp_t op = ncclSum;
};

// Enqueues the collective on `stream`. May be called during graph capture and within an NCCL group.
Status EnqueueCollective(const Communicator& communicator, CollectiveKind kind,
                         const CollectiveCall& call, cudaStream_t stream);

}  // namespace assay
