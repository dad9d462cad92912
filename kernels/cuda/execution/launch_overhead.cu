// The case of launch_overhead: a chain of launches of a kernel that only counts itself.
#include <chrono>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/gpu_case.h"

namespace assay {
namespace {

// Number of kernel launches timed together on the host. They must all fit in a stream's queue,
// because a full queue would make the host wait for the GPU.
constexpr int kHostCalls = 64;

// Runs in one thread and waits for nothing.
__global__ void CountKernel(unsigned long long* counter) { atomicAdd(counter, 1ULL); }

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// An iteration is a chain of `launches` launches, or a replay of their graph.
class LaunchCase : public Case {
 public:
  explicit LaunchCase(const RunContext& context)
      : gpu_(context.gpu),
        launches_(Integer(context.parameters, "launches")),
        graph_mode_(Word(context.parameters, "launch") == "graph") {}

  Status Prepare() {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
    ASSAY_ASSIGN_OR_RETURN(counter_,
                           DeviceBuffer::Allocate(sizeof(unsigned long long), "the counter"));
    ASSAY_CUDA(cudaMemsetAsync(counter_.data(), 0, sizeof(unsigned long long), stream_.get()));
    // Loads the kernel, which must not happen during a capture.
    ASSAY_RETURN_IF_ERROR(LaunchMany(1));
    counted_ = 1;
    if (graph_mode_) {
      ASSAY_ASSIGN_OR_RETURN(
          graph_, CudaGraph::Capture(stream_.get(), [this] { return LaunchMany(launches_); }));
    }
    ASSAY_CUDA(cudaStreamSynchronize(stream_.get()));
    return Status::Ok();
  }

  Timing HowTimed() const override { return {"none", "random", graph_mode_ ? "graph" : "events"}; }

  Result<Verdict> Verify() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_RETURN_IF_ERROR(Iterate());
    return VerifyLast();
  }

  int64_t UntimedIterations(int64_t /*samples*/, int64_t /*batch*/) const override { return 1; }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_RETURN_IF_ERROR(timer_.Time(
        stream_.get(), samples, batch, [this] { return Iterate(); }, seconds));
    // Observe both times once per sample, so that their spread is that of single calls.
    for (int64_t sample = 0; sample < samples; ++sample) {
      ASSAY_ASSIGN_OR_RETURN(const double call, HostSecondsOfCall());
      ASSAY_ASSIGN_OR_RETURN(const double round_trip, RoundTripSeconds());
      call_microseconds_.push_back(call * 1e6);
      round_trip_microseconds_.push_back(round_trip * 1e6);
    }
    return Status::Ok();
  }

  std::vector<double> Observed(const std::string& name) const override {
    return name == "host_time" ? call_microseconds_ : round_trip_microseconds_;
  }

  // Checks that every launch so far has counted exactly once.
  Result<Verdict> VerifyLast() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    unsigned long long count = 0;
    ASSAY_CUDA(
        cudaMemcpyAsync(&count, counter_.data(), sizeof count, cudaMemcpyDefault, stream_.get()));
    ASSAY_CUDA(cudaStreamSynchronize(stream_.get()));
    Verdict verdict;
    verdict.reference = "launches counted on the host";
    verdict.norm = "mismatches";
    verdict.elements_checked = counted_;
    const auto expected = static_cast<unsigned long long>(counted_);
    verdict.error = static_cast<double>(count > expected ? count - expected : expected - count);
    verdict.passed = count == expected;
    if (!verdict.passed) {
      verdict.detail = "the kernels counted " + std::to_string(count) + " launches of " +
                       std::to_string(expected);
    }
    return verdict;
  }

 private:
  // Enqueues `launches` kernels as fast as the host can. Calls cudaLaunchKernel directly, because
  // the <<<>>> syntax adds two more calls per launch.
  Status LaunchMany(int64_t launches) {
    auto* counter = counter_.as<unsigned long long>();
    void* arguments[] = {&counter};
    cudaError_t error = cudaSuccess;
    for (int64_t i = 0; i < launches && error == cudaSuccess; ++i) {
      error = cudaLaunchKernel(CountKernel, dim3(1), dim3(1), arguments, 0, stream_.get());
    }
    ASSAY_CUDA(error);
    return Status::Ok();
  }

  Status Iterate() {
    counted_ += launches_;
    return graph_mode_ ? graph_.Launch(stream_.get()) : LaunchMany(launches_);
  }

  // Makes one call, which launches one kernel or the whole graph.
  Status Call() {
    counted_ += graph_mode_ ? launches_ : 1;
    return graph_mode_ ? graph_.Launch(stream_.get()) : LaunchMany(1);
  }

  // Returns how long, in seconds, one launch call takes on the host while the stream is idle.
  // Launching a kernel takes little longer than reading the clock, so the time is averaged over
  // kHostCalls launches. A graph launch is timed on its own.
  Result<double> HostSecondsOfCall() {
    const int calls = graph_mode_ ? 1 : kHostCalls;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) ASSAY_RETURN_IF_ERROR(Call());
    const double seconds = SecondsSince(begin) / calls;
    ASSAY_CUDA(cudaStreamSynchronize(stream_.get()));
    return seconds;
  }

  // Returns the time in seconds from a call until the host knows that its work is done.
  Result<double> RoundTripSeconds() {
    const auto begin = std::chrono::steady_clock::now();
    ASSAY_RETURN_IF_ERROR(Call());
    ASSAY_CUDA(cudaStreamSynchronize(stream_.get()));
    return SecondsSince(begin);
  }

  const int gpu_;
  const int64_t launches_;
  const bool graph_mode_;
  CudaStream stream_;
  DeviceBuffer counter_;
  CudaGraph graph_;
  EventTimer timer_;
  int64_t counted_ = 0;  // Launches since Prepare.
  std::vector<double> call_microseconds_;
  std::vector<double> round_trip_microseconds_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewLaunchOverheadCase(const RunContext& context) {
  return PrepareCase<LaunchCase>(context);
}

}  // namespace assay
