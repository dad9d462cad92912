// An NCCL communicator over the ranks of a gang.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"
#include "kernels/nccl/nccl_library.h"

namespace assay {

// One rank's NCCL communicator, for use by one thread. Waiting fails with UNAVAILABLE (PEER_LOST)
// if another rank is lost, or with DEADLINE_EXCEEDED (NCCL_TIMEOUT) after the timeout. Any error
// while waiting aborts the communicator. Example of a call on stream `s`:
//   ASSAY_NCCL(comm->nccl(), all_reduce(in, out, count, ncclFloat, ncclSum, comm->get(), s));
// Keep fewer than about 1000 kernels queued on a stream. If the queue is full, a launch blocks, and
// a lost rank goes unnoticed.
class Communicator {
 public:
  // How Wait() polls the stream. kSleep sleeps between polls. kSpin polls continuously, for work
  // that is timed by the host's clock.
  enum class Polling { kSleep, kSpin };

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  // Connects all ranks. Each rank must call this at about the same time, after making its GPU
  // current. `peers` transports NCCL's unique id from rank 0 to the other ranks and must outlive
  // the communicator. NCCL's kernels use `ctas` thread blocks, one per multiprocessor; if 0, NCCL
  // chooses.
  static Result<std::unique_ptr<Communicator>> Connect(Peers& peers, int gpu, Duration timeout,
                                                       int ctas = 0);

  ncclComm_t get() const { return comm_; }
  const NcclLibrary& nccl() const { return nccl_; }
  int rank() const { return peers_.rank(); }
  int ranks() const { return peers_.world_size(); }
  // Returns true after Abort() or after a wait has failed. From then on, do not call NCCL, and do
  // not destroy CUDA graphs that captured NCCL calls.
  bool aborted() const { return comm_ == nullptr; }
  // Ends this communicator's kernels on this GPU, even if they are waiting for other ranks. Call
  // this after another communicator of the same ranks was aborted.
  void Abort();

  // Runs `calls` between ncclGroupStart and ncclGroupEnd, which is called even after an error.
  Status Group(const std::function<Status()>& calls) const;

  // Returns when `stream` is empty, NCCL reports a failure, a rank is lost or the time is up.
  Status Wait(cudaStream_t stream, Duration timeout, Polling polling = Polling::kSleep);
  // Waits for the work before `event` in the same way.
  Status WaitFor(cudaEvent_t event, Duration timeout);

 private:
  Communicator(const NcclLibrary& nccl, Peers& peers, ncclComm_t comm)
      : nccl_(nccl), peers_(peers), comm_(comm) {}
  // Waits until `query` no longer returns cudaErrorNotReady.
  Status WaitUntilReady(const std::function<cudaError_t()>& query, const char* what,
                        Duration timeout, Polling polling);
  // Returns the error that ends a wait, if there is one.
  Status Trouble(Duration waited, Duration timeout) const;

  const NcclLibrary& nccl_;
  Peers& peers_;
  ncclComm_t comm_;  // Null once aborted.
};

}  // namespace assay
