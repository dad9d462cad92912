// Prepares, runs and verifies the cases of the host_latency benchmark.
#include <utility>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/frame/event_timer.h"
#include "kernels/cuda/links/host_memory.h"
#include "kernels/cuda/links/link_chase.h"

namespace assay {
namespace {

class HostLatencyCase : public Case {
 public:
  explicit HostLatencyCase(const RunContext& context)
      : gpu_(context.gpu),
        bytes_(Integer(context.parameters, "bytes")),
        numa_(Word(context.parameters, "numa")),
        seed_(context.seed) {}

  Status Prepare() {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
    ASSAY_ASSIGN_OR_RETURN(host_, HostMemory::Allocate(bytes_, /*pinned=*/true, gpu_, numa_));
    ASSAY_ASSIGN_OR_RETURN(chase_, LinkChase::Create(host_.data(), bytes_, seed_, stream_.get()));
    return Status::Ok();
  }

  // Returns a cache state of "none" instead of "cold" or "hot", because the host's caches may hold
  // the data that the GPU loads.
  Timing HowTimed() const override { return {"none", "random", "events"}; }
  int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const override { return 1; }

  Result<Verdict> Verify() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_RETURN_IF_ERROR(chase_->Poison());
    ASSAY_RETURN_IF_ERROR(chase_->Enqueue());
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_RETURN_IF_ERROR(chase_->Poison());
    return timer_.Time(
        stream_.get(), samples, batch, [this] { return chase_->Enqueue(); }, seconds);
  }

  Result<Verdict> VerifyLast() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_ASSIGN_OR_RETURN(Verdict verdict, chase_->Check());
    verdict.reference += "; " + host_.Place();
    return verdict;
  }

 private:
  const int gpu_;
  const int64_t bytes_;
  const std::string numa_;
  const uint64_t seed_;
  CudaStream stream_;
  HostMemory host_;
  std::unique_ptr<LinkChase> chase_;
  EventTimer timer_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewHostLatencyCase(const RunContext& context) {
  return PrepareCase<HostLatencyCase>(context);
}

}  // namespace assay
