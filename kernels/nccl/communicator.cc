#include "kernels/nccl/communicator.h"

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "common/mutex.h"
#include "gang/peers.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/nccl/nccl_log.h"

namespace assay {
namespace {

// The state of a call to ncclCommInitRank, which runs on its own thread because it blocks until
// all ranks have joined. NCCL's non-blocking mode is not an option: it starts a thread for every
// collective, which disturbs the timing.
struct Initialization {
  Mutex mutex;
  CondVar changed;
  bool done ASSAY_GUARDED_BY(mutex) = false;
  Status status ASSAY_GUARDED_BY(mutex);
  ncclComm_t comm ASSAY_GUARDED_BY(mutex) = nullptr;
};

Status Initialize(const NcclLibrary& nccl, const ncclUniqueId& id, int rank, int world_size,
                  int gpu, int ctas, ncclComm_t* comm) {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu).status());
  if (ctas == 0) {
    ASSAY_NCCL(nccl, comm_init_rank(comm, world_size, id, rank));
    return Status::Ok();
  }
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.minCTAs = ctas;
  config.maxCTAs = ctas;
  ASSAY_NCCL(nccl, comm_init_rank_config(comm, world_size, id, rank, &config));
  return Status::Ok();
}

// The interval at which a waiting rank checks that no other rank is lost.
constexpr std::chrono::milliseconds kLookInterval(50);

Status TimedOut(const std::string& what, Duration timeout) {
  return Status(
      Code::kDeadlineExceeded, Reason::kNcclTimeout,
      what + " did not end within " +
          std::to_string(std::chrono::duration_cast<std::chrono::seconds>(timeout).count()) +
          " s: another rank is missing or stuck");
}

// Sends the unique id that rank 0 creates to all ranks, and returns it.
Result<ncclUniqueId> ShareUniqueId(const NcclLibrary& nccl, Peers& peers, Duration timeout) {
  ncclUniqueId id{};
  Status made;
  if (peers.rank() == 0) {
    made = NcclStatus(nccl, nccl.get_unique_id(&id), "get_unique_id(&id)", __FILE__, __LINE__);
  }
  ASSAY_RETURN_IF_ERROR(Agree(peers, made, timeout));
  std::string bytes(id.internal, sizeof id.internal);
  ASSAY_RETURN_IF_ERROR(peers.Broadcast(&bytes, timeout));
  if (bytes.size() != sizeof id.internal) {
    return Internal("rank 0 sent a NCCL id of " + std::to_string(bytes.size()) +
                    " bytes; this rank's NCCL has " + std::to_string(sizeof id.internal));
  }
  std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  return id;
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::Connect(Peers& peers, int gpu, Duration timeout,
                                                            int ctas) {
  const Result<const NcclLibrary*> loaded = LoadNccl();
  ASSAY_RETURN_IF_ERROR(Agree(peers, loaded.status(), timeout));
  const NcclLibrary& nccl = **loaded;
  ASSAY_ASSIGN_OR_RETURN(const ncclUniqueId id, ShareUniqueId(nccl, peers, timeout));
  BeginNcclLog();
  const auto state = std::make_shared<Initialization>();
  std::thread([state, &nccl, id, rank = peers.rank(), world_size = peers.world_size(), gpu, ctas] {
    ncclComm_t comm = nullptr;
    const Status status = Initialize(nccl, id, rank, world_size, gpu, ctas, &comm);
    MutexLock lock(state->mutex);
    state->done = true;
    state->status = status;
    state->comm = comm;
    state->changed.NotifyAll();
  }).detach();
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(state->mutex);
  while (!state->done) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) {
      return TimedOut("ncclCommInitRank of rank " + std::to_string(peers.rank()), timeout);
    }
    state->changed.WaitUntil(state->mutex, now + kLookInterval);
    if (!state->done) ASSAY_RETURN_IF_ERROR(peers.Check());
  }
  ASSAY_RETURN_IF_ERROR(state->status);
  return std::unique_ptr<Communicator>(new Communicator(nccl, peers, state->comm));
}

Communicator::~Communicator() {
  // This call does not wait for other ranks, which may be lost.
  if (comm_ != nullptr) nccl_.comm_destroy(comm_);
}

void Communicator::Abort() {
  if (comm_ != nullptr) nccl_.comm_abort(comm_);
  comm_ = nullptr;
}

Status Communicator::Group(const std::function<Status()>& calls) const {
  ASSAY_NCCL(nccl_, group_start());
  const Status called = calls();
  const ncclResult_t ended = nccl_.group_end();
  ASSAY_RETURN_IF_ERROR(called);
  return NcclStatus(nccl_, ended, "group_end()", __FILE__, __LINE__);
}

Status Communicator::Wait(cudaStream_t stream, Duration timeout, Polling polling) {
  return WaitUntilReady([stream] { return cudaStreamQuery(stream); }, "cudaStreamQuery(stream)",
                        timeout, polling);
}

Status Communicator::WaitFor(cudaEvent_t event, Duration timeout) {
  return WaitUntilReady([event] { return cudaEventQuery(event); }, "cudaEventQuery(event)", timeout,
                        Polling::kSpin);
}

Status Communicator::Trouble(Duration waited, Duration timeout) const {
  ncclResult_t failure = ncclSuccess;
  const ncclResult_t asked = nccl_.comm_get_async_error(comm_, &failure);
  // Reports a lost rank rather than NCCL's own error, which does not name the rank.
  ASSAY_RETURN_IF_ERROR(peers_.Check());
  ASSAY_RETURN_IF_ERROR(NcclStatus(nccl_, asked != ncclSuccess ? asked : failure,
                                   "comm_get_async_error(comm_, &failure)", __FILE__, __LINE__));
  return waited < timeout ? Status::Ok() : TimedOut("a collective", timeout);
}

Status Communicator::WaitUntilReady(const std::function<cudaError_t()>& query, const char* what,
                                    Duration timeout, Polling polling) {
  if (comm_ == nullptr) return FailedPrecondition("the communicator was aborted");
  const auto begin = std::chrono::steady_clock::now();
  auto looked = begin;
  for (;;) {
    const cudaError_t state = query();
    if (state != cudaErrorNotReady) return CudaStatus(state, what, __FILE__, __LINE__);
    const auto now = std::chrono::steady_clock::now();
    if (now - looked >= kLookInterval) {
      looked = now;
      const Status trouble = Trouble(now - begin, timeout);
      if (!trouble.ok()) {
        Abort();
        return trouble;
      }
    }
    // Sleeping is harmless if the times of samples are measured by the GPU.
    if (polling == Polling::kSleep) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace assay
