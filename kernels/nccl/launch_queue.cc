#include "kernels/nccl/launch_queue.h"

namespace assay {

Status LaunchQueue::MakeRoom(Communicator& communicator, cudaStream_t stream, Duration timeout) {
  const int64_t launch = launches_++;
  if (launch % kStep != 0) return Status::Ok();
  CudaEvent& event = events_[static_cast<size_t>(launch / kStep) % kSteps];
  if (event.get() == nullptr) {
    ASSAY_ASSIGN_OR_RETURN(event, CudaEvent::Create());
  } else {
    ASSAY_RETURN_IF_ERROR(communicator.WaitFor(event.get(), timeout));
  }
  return event.Record(stream);
}

}  // namespace assay
