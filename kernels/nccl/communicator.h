// A NCCL communicator over the ranks of a gang.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "common/clock.h"
#include "common/status.h"
#include "kernels/nccl/nccl_library.h"
#include "gang/peers.h"

namespace assay {

// One rank's end. Used by one thread. Whatever waits for other ranks ends with UNAVAILABLE
// (PEER_LOST) as soon as one is gone, with DEADLINE_EXCEEDED (NCCL_TIMEOUT) if one does not
// come; after an error the communicator is aborted and the gang is over.
//
// Calls of NCCL go through nccl() and get(), on any stream of the GPU:
//   ASSAY_NCCL(comm->nccl(), all_reduce(in, out, count, ncclFloat, ncclSum, comm->get(), s));
// Keep what is enqueued below about a thousand kernels a stream: a launch waits for room in
// the queue, and there nothing notices that another rank is gone.
class Communicator {
 public:
  // How Wait looks after the stream: asleep in between, or without a pause where the host's
  // clock is what is read.
  enum class Polling { kSleep, kSpin };

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  // Called by all ranks at once, each with its GPU current: rank 0's unique id goes to the
  // others through `peers`, which outlives the communicator, then NCCL connects them. Its
  // kernels take `ctas` thread blocks, each on a multiprocessor; 0: as many as NCCL likes.
  static Result<std::unique_ptr<Communicator>> Connect(Peers& peers, int gpu, Duration timeout,
                                                       int ctas = 0);

  ncclComm_t get() const { return comm_; }
  const NcclLibrary& nccl() const { return nccl_; }
  int rank() const { return peers_.rank(); }
  int ranks() const { return peers_.world_size(); }
  // After an error of Wait: nothing of NCCL's is to be called any more, and graphs that
  // captured its calls are not to be destroyed.
  bool aborted() const { return comm_ == nullptr; }
  // Ends its kernels on this GPU, whatever they wait for: for a gang with several
  // communicators, when another one was aborted.
  void Abort();

  // Makes `calls` of NCCL between ncclGroupStart and ncclGroupEnd, which is called whatever
  // they return.
  Status Group(const std::function<Status()>& calls) const;

  // Returns when `stream` is empty, NCCL reports a failure, a rank is gone or time is up.
  Status Wait(cudaStream_t stream, Duration timeout, Polling polling = Polling::kSleep);
  // The same for what was enqueued before `event`.
  Status WaitFor(cudaEvent_t event, Duration timeout);

 private:
  Communicator(const NcclLibrary& nccl, Peers& peers, ncclComm_t comm)
      : nccl_(nccl), peers_(peers), comm_(comm) {}
  // Until `query` no longer says cudaErrorNotReady.
  Status WaitUntilReady(const std::function<cudaError_t()>& query, const char* what,
                        Duration timeout, Polling polling);
  // What speaks against waiting any longer.
  Status Trouble(Duration waited, Duration timeout) const;

  const NcclLibrary& nccl_;
  Peers& peers_;
  ncclComm_t comm_;  // Null once aborted.
};

}  // namespace assay
