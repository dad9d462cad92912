// A NCCL communicator over the ranks of a gang.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "common/clock.h"
#include "common/status.h"
#include "kernels/nccl/nccl_library.h"
#include "kernels/peers.h"

namespace assay {

// One rank's end. Used by one thread. Whatever waits for other ranks ends with
// DEADLINE_EXCEEDED (NCCL_TIMEOUT) when they do not come; after an error the
// communicator is aborted and the gang is over.
class Communicator {
 public:
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  // Called by all ranks at once, each with its GPU current: rank 0's unique id goes
  // to the others through `peers`, then NCCL connects them.
  static Result<std::unique_ptr<Communicator>> Connect(Peers& peers, int gpu, Duration timeout);

  ncclComm_t get() const { return comm_; }
  const NcclLibrary& nccl() const { return nccl_; }

  // Returns when `stream` is empty, NCCL reports a failure, or time is up.
  Status Wait(cudaStream_t stream, Duration timeout);

 private:
  Communicator(const NcclLibrary& nccl, ncclComm_t comm) : nccl_(nccl), comm_(comm) {}
  void Abort();

  const NcclLibrary& nccl_;
  ncclComm_t comm_;  // Null once aborted.
};

}  // namespace assay
