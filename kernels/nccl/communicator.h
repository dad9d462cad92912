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

// One rank's NCCL communicator. Used by one thread. A wait for other ranks returns UNAVAILABLE
// (PEER_LOST) if a rank is lost and DEADLINE_EXCEEDED (NCCL_TIMEOUT) if the time is up. After an
// error the communicator is aborted. Call NCCL on any stream of the GPU, like this:
//   ASSAY_NCCL(comm->nccl(), all_reduce(in, out, count, ncclFloat, ncclSum, comm->get(), s));
// Keep fewer than about a thousand kernels queued on a stream. When its queue is full, the next
// launch blocks and does not notice that a rank is lost.
class Communicator {
 public:
  // How Wait() polls the stream. kSleep sleeps between polls. kSpin does not, for work whose time
  // the host measures.
  enum class Polling { kSleep, kSpin };

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  // Connects all ranks, which must call this at about the same time, each with its GPU current.
  // `peers` carries NCCL's unique id from rank 0 to the others and must outlive the communicator.
  // NCCL's kernels use `ctas` thread blocks, each on its own multiprocessor; with 0, NCCL chooses.
  static Result<std::unique_ptr<Communicator>> Connect(Peers& peers, int gpu, Duration timeout,
                                                       int ctas = 0);

  ncclComm_t get() const { return comm_; }
  const NcclLibrary& nccl() const { return nccl_; }
  int rank() const { return peers_.rank(); }
  int ranks() const { return peers_.world_size(); }
  // Returns true once the communicator was aborted, by an error of Wait or by Abort(). Then NCCL
  // must not be called any more, and graphs that captured its calls must not be destroyed.
  bool aborted() const { return comm_ == nullptr; }
  // Ends this communicator's kernels on this GPU, even those that wait for other ranks. Call it if
  // another communicator of the same ranks was aborted.
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
