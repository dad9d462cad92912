#include "kernels/nccl/launch_queue.h"

#include "kernels/cuda/frame/cuda_check.h"

namespace assay {

LaunchQueue::~LaunchQueue() {
  for (cudaEvent_t event : events_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
}

Status LaunchQueue::MakeRoom(Communicator& communicator, cudaStream_t stream, Duration timeout) {
  const int64_t launch = launches_++;
  if (launch % kStep != 0) return Status::Ok();
  cudaEvent_t& event = events_[static_cast<size_t>(launch / kStep) % kSteps];
  if (event == nullptr) {
    ASSAY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  } else {
    ASSAY_RETURN_IF_ERROR(communicator.WaitFor(event, timeout));
  }
  ASSAY_CUDA(cudaEventRecord(event, stream));
  return Status::Ok();
}

}  // namespace assay
