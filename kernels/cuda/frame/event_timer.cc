#include "kernels/cuda/frame/event_timer.h"

#include "kernels/cuda/frame/cuda_check.h"

namespace assay {

EventTimer::~EventTimer() {
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
}

Status EventTimer::MakeEvents(int64_t count) {
  while (events_.size() < static_cast<size_t>(count)) {
    cudaEvent_t event = nullptr;
    ASSAY_CUDA(cudaEventCreate(&event));
    events_.push_back(event);
  }
  return Status::Ok();
}

Status EventTimer::Time(cudaStream_t stream, int64_t samples, int64_t batch,
                        const std::function<Status()>& iterate, const std::function<Status()>& wait,
                        std::vector<double>* seconds) {
  ASSAY_RETURN_IF_ERROR(MakeEvents(samples + 1));
  ASSAY_RETURN_IF_ERROR(iterate());
  ASSAY_CUDA(cudaEventRecord(events_[0], stream));
  for (int64_t sample = 1; sample <= samples; ++sample) {
    for (int64_t i = 0; i < batch; ++i) ASSAY_RETURN_IF_ERROR(iterate());
    ASSAY_CUDA(cudaEventRecord(events_[static_cast<size_t>(sample)], stream));
  }
  ASSAY_RETURN_IF_ERROR(wait());
  for (size_t sample = 1; sample <= static_cast<size_t>(samples); ++sample) {
    float milliseconds = 0;
    ASSAY_CUDA(cudaEventElapsedTime(&milliseconds, events_[sample - 1], events_[sample]));
    seconds->push_back(milliseconds * 1e-3 / static_cast<double>(batch));
  }
  return Status::Ok();
}

Status EventTimer::Time(cudaStream_t stream, int64_t samples, int64_t batch,
                        const std::function<Status()>& iterate, std::vector<double>* seconds) {
  const auto wait = [stream]() -> Status {
    ASSAY_CUDA(cudaStreamSynchronize(stream));
    return Status::Ok();
  };
  return Time(stream, samples, batch, iterate, wait, seconds);
}

Status EventTimer::TimeApart(cudaStream_t stream, int64_t samples, int64_t batch,
                             const std::function<Status()>& before,
                             const std::function<Status()>& iterate,
                             const std::function<Status()>& wait, std::vector<double>* seconds) {
  ASSAY_RETURN_IF_ERROR(MakeEvents(2 * samples));
  ASSAY_RETURN_IF_ERROR(before());
  ASSAY_RETURN_IF_ERROR(iterate());
  for (size_t sample = 0; sample < static_cast<size_t>(samples); ++sample) {
    ASSAY_RETURN_IF_ERROR(before());
    ASSAY_CUDA(cudaEventRecord(events_[2 * sample], stream));
    for (int64_t i = 0; i < batch; ++i) ASSAY_RETURN_IF_ERROR(iterate());
    ASSAY_CUDA(cudaEventRecord(events_[2 * sample + 1], stream));
  }
  ASSAY_RETURN_IF_ERROR(wait());
  for (size_t sample = 0; sample < static_cast<size_t>(samples); ++sample) {
    float milliseconds = 0;
    ASSAY_CUDA(cudaEventElapsedTime(&milliseconds, events_[2 * sample], events_[2 * sample + 1]));
    seconds->push_back(milliseconds * 1e-3 / static_cast<double>(batch));
  }
  return Status::Ok();
}

}  // namespace assay
