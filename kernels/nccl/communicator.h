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

// One rank's end of the communicator. Used by one thread. A wait for other ranks ends with
// UNAVAILABLE (PEER_LOST) when one is lost and with DEADLINE_EXCEEDED (NCCL_TIMEOUT) when one does
// not arrive. After an error the communicator is aborted and the gang has failed.
//
// Call NCCL through nccl() and get(), on any stream of the GPU:
//   ASSAY_NCCL(comm->nccl(), all_reduce(in, out, count, ncclFloat, ncclSum, comm->get(), s));
// Keep fewer than about a thousand kernels in a stream's queue: a launch blocks while it is full,
// and would not notice that another rank is lost.
class Communicator {
 public:
  // The way Wait polls the stream: with sleeps, or without a pause if the host's clock measures the
  // time.
  enum class Polling { kSleep, kSpin };

  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  // Sends rank 0's unique id to the others through `peers`, which must outlive the communicator,
  // and connects them. All ranks call it at once, each with its GPU current. NCCL's kernels take
  // `ctas` thread blocks, each on a multiprocessor; 0 leaves the number to NCCL.
  static Result<std::unique_ptr<Communicator>> Connect(Peers& peers, int gpu, Duration timeout,
                                                       int ctas = 0);

  ncclComm_t get() const { return comm_; }
  const NcclLibrary& nccl() const { return nccl_; }
  int rank() const { return peers_.rank(); }
  int ranks() const { return peers_.world_size(); }
  // True after an error of Wait. Then NCCL must not be called any more, and graphs that captured
  // its calls must not be destroyed.
  bool aborted() const { return comm_ == nullptr; }
  // Ends this communicator's kernels on this GPU even if they wait for other ranks. Call it when
  // another communicator of the gang was aborted.
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
