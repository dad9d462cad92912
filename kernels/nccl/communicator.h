// An NCCL communicator that connects the ranks (processes) of a benchmark.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "common/clock.h"
#include "common/status.h"
#include "gang/peers.h"
#include "kernels/nccl/nccl_library.h"

namespace assay {

// One rank's NCCL communicator. Must be used by a single thread. Waiting fails with UNAVAILABLE
// (PEER_LOST) if another rank is lost, or with DEADLINE_EXCEEDED (NCCL_TIMEOUT) after the
// timeout. These failures, and errors that NCCL reports during a wait, abort the communicator.
// Example:
//   ASSAY_NCCL(comm->nccl(), all_reduce(in, out, count, ncclFloat, ncclSum, comm->get(), stream));
// Callers must keep fewer than about 1000 kernels queued on a stream. Once the queue is full, the
// next launch blocks, and a lost rank goes unnoticed.
class Communicator {
 public:
  // The polling mode of Wait(). kSleep sleeps between polls. kSpin polls continuously, which is
  // needed when the work is timed with the host's clock.
  enum class Polling { kSleep, kSpin };

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  // Connects all ranks, which must call this at about the same time, after making their GPUs
  // current. Rank 0 sends NCCL's unique id to the other ranks over `peers`, which must outlive
  // the communicator. NCCL's kernels use `ctas` thread blocks, one per multiprocessor. If `ctas`
  // is 0, NCCL chooses the number.
  static Result<std::unique_ptr<Communicator>> Connect(Peers& peers, int gpu, Duration timeout,
                                                       int ctas = 0);

  ncclComm_t get() const { return comm_; }
  const NcclLibrary& nccl() const { return nccl_; }
  int rank() const { return peers_.rank(); }
  int ranks() const { return peers_.world_size(); }
  // Returns true if the communicator was aborted, either by Abort() or because a wait failed.
  // From then on, do not pass it to NCCL, and do not destroy CUDA graphs that captured its calls.
  bool aborted() const { return comm_ == nullptr; }
  // Stops this communicator's kernels on this GPU, even those waiting for other ranks. Must be
  // called if another communicator of the same ranks was aborted.
  void Abort();

  // Runs `calls` between ncclGroupStart and ncclGroupEnd. Calls ncclGroupEnd even if `calls` fails.
  Status Group(const std::function<Status()>& calls) const;

  // Waits until `stream` is empty. Fails if NCCL reports an error, a rank is lost, or `timeout`
  // expires.
  Status Wait(cudaStream_t stream, Duration timeout, Polling polling = Polling::kSleep);
  // Like Wait(), but waits only for the work that was enqueued before `event`.
  Status WaitFor(cudaEvent_t event, Duration timeout);

 private:
  Communicator(const NcclLibrary& nccl, Peers& peers, ncclComm_t comm)
      : nccl_(nccl), peers_(peers), comm_(comm) {}
  // Waits until `query` no longer returns cudaErrorNotReady.
  Status WaitUntilReady(const std::function<cudaError_t()>& query, const char* what,
                        Duration timeout, Polling polling);
  // Returns OK if a wait that has taken `waited` so far may continue. Otherwise, returns the error
  // that must end it: an NCCL failure, a lost rank, or the timeout.
  Status Trouble(Duration waited, Duration timeout) const;

  const NcclLibrary& nccl_;
  Peers& peers_;
  ncclComm_t comm_;  // Null once aborted.
};

}  // namespace assay
