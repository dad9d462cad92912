#include "kernels/cuda/frame/clocked_case.h"

#include "kernels/cuda/frame/cuda_check.h"

namespace assay {

Status ClockedCase::SetUp() {
  ASSAY_ASSIGN_OR_RETURN(ticks_, DeviceBuffer::Allocate(sizeof(Ticks), "clock readings"));
  return Status::Ok();
}

Status ClockedCase::Run(int64_t samples, int64_t batch, std::vector<double>* seconds) {
  ASSAY_RETURN_IF_ERROR(UseGpu(device().ordinal).status());
  const int64_t bytes = (samples + 1) * static_cast<int64_t>(sizeof(Ticks));
  if (ticks_.bytes() < bytes) {
    ASSAY_ASSIGN_OR_RETURN(ticks_, DeviceBuffer::Allocate(bytes, "clock readings"));
  }
  ASSAY_CUDA(cudaMemsetAsync(ticks_.data(), 0, static_cast<size_t>(bytes), stream()));
  samples_ = samples;
  batch_ = batch;
  iteration_ = 0;
  ASSAY_RETURN_IF_ERROR(GpuCase::Run(samples, batch, seconds));
  samples_ = 0;
  std::vector<Ticks> ticks(static_cast<size_t>(samples));
  ASSAY_CUDA(cudaMemcpy(ticks.data(), ticks_.At(sizeof(Ticks)), ticks.size() * sizeof(Ticks),
                        cudaMemcpyDefault));
  for (const Ticks& sample : ticks) {
    cycles_.push_back(static_cast<double>(sample.cycles) / static_cast<double>(batch));
    nanoseconds_.push_back(static_cast<double>(sample.nanoseconds) / static_cast<double>(batch));
  }
  return Status::Ok();
}

Ticks* ClockedCase::TicksOfIteration() {
  const bool timed = samples_ > 0 && iteration_++ > 0;
  const int64_t sample = timed ? (iteration_ - 2) / batch_ + 1 : 0;
  return ticks_.as<Ticks>() + sample;
}

}  // namespace assay
