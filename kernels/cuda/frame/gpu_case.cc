#include "kernels/cuda/frame/gpu_case.h"

#include <algorithm>
#include <cmath>

#include "kernels/cuda/frame/cuda_check.h"

namespace assay {
namespace {

constexpr int64_t kAlignment = 256;
// The target duration of one CUDA graph replay, in seconds, long enough to make the launch overhead
// comparatively small. A graph includes enough iterations to take this long, but at most
// kMaxReplays, rounded up to use every set of buffers equally often.
constexpr double kReplaySeconds = 1e-3;
constexpr int64_t kMaxReplays = 64;
// Maximum number of kernel launches in a graph: each costs host and device memory.
constexpr int64_t kMaxGraphLaunches = 65536;

bool IsWord(const ParameterMap& parameters, const std::string& name, const std::string& word) {
  const auto found = parameters.find(name);
  return found != parameters.end() && found->second == word;
}

}  // namespace

Result<CudaGraph> CudaGraph::Capture(cudaStream_t stream, const std::function<Status()>& enqueue) {
  ASSAY_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  const Status enqueued = enqueue();
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  if (!enqueued.ok()) {
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    return enqueued;
  }
  ASSAY_RETURN_IF_ERROR(CudaStatus(ended, "cudaStreamEndCapture", __FILE__, __LINE__));
  CudaGraph captured;
  const cudaError_t made = cudaGraphInstantiate(&captured.graph_, graph, 0);
  cudaGraphDestroy(graph);
  ASSAY_RETURN_IF_ERROR(CudaStatus(made, "cudaGraphInstantiate", __FILE__, __LINE__));
  ASSAY_CUDA(cudaGraphUpload(captured.graph_, stream));
  return captured;
}

Status CudaGraph::Launch(cudaStream_t stream) const {
  ASSAY_CUDA(cudaGraphLaunch(graph_, stream));
  return Status::Ok();
}

GpuCase::GpuCase(const RunContext& context)
    : gpu_(context.gpu),
      seed_(context.seed),
      has_cache_(context.parameters.count("cache") != 0),
      cold_(IsWord(context.parameters, "cache", "cold")),
      zeros_(IsWord(context.parameters, "fill", "zeros")),
      graph_mode_(IsWord(context.parameters, "launch", "graph")) {}

Status GpuCase::Prepare() {
  ASSAY_ASSIGN_OR_RETURN(device_, UseGpu(gpu_));
  ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
  ASSAY_RETURN_IF_ERROR(SetUp());
  if (graph_mode_) ASSAY_RETURN_IF_ERROR(CaptureGraph());
  ASSAY_CUDA(cudaStreamSynchronize(stream()));
  return Status::Ok();
}

Status GpuCase::CaptureGraph() {
  // Also loads the kernels, which must not happen during a capture.
  std::vector<double> seconds;
  ASSAY_RETURN_IF_ERROR(timer_.Time(
      stream(), 1, 1, [this] { return Enqueue(rotation_.Next()); }, &seconds));
  const double fitting = std::ceil(kReplaySeconds / std::max(seconds.front(), 1e-9));
  const int64_t least =
      std::clamp<int64_t>(static_cast<int64_t>(std::min(fitting, 1e9)), 1, kMaxReplays);
  launches_ = (least + sets() - 1) / sets() * sets();
  if (launches_ > kMaxGraphLaunches) {
    return InvalidArgument("launch: graph captures one launch for each of the " +
                           std::to_string(sets()) +
                           " sets of buffers that a cold cache needs at "
                           "this size; at most " +
                           std::to_string(kMaxGraphLaunches) + " can be captured")
        .WithHint("choose a larger size, cache: hot, or launch: stream");
  }
  ASSAY_ASSIGN_OR_RETURN(captured_, CudaGraph::Capture(stream(), [this]() -> Status {
                           for (int64_t i = 0; i < launches_; ++i) {
                             ASSAY_RETURN_IF_ERROR(Enqueue(rotation_.Next()));
                           }
                           return Status::Ok();
                         }));
  return Status::Ok();
}

Timing GpuCase::HowTimed() const {
  const char* const warm = has_cache_ ? "hot" : "none";
  return {cold_ ? "cold" : warm, zeros_ ? "zeros" : "random", graph_mode_ ? "graph" : "events"};
}

// Launches an iteration on the next set of buffers, or a replay of the CUDA graph. A replay uses
// every set equally often and ends at the set where it began, so it does not advance the rotation.
Status GpuCase::Launch() {
  return graph_mode_ ? captured_.Launch(stream()) : Enqueue(rotation_.Next());
}

Status GpuCase::Poison(int64_t set) {
  const OutputRange output = Output(set);
  ASSAY_CUDA(cudaMemsetAsync(output.data, 0xff, static_cast<size_t>(output.bytes), stream()));
  return Status::Ok();
}

Result<Verdict> GpuCase::Verify() {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  ASSAY_RETURN_IF_ERROR(Poison(rotation_.After(launches_)));
  ASSAY_RETURN_IF_ERROR(Launch());
  return VerifyLast();
}

Status GpuCase::Run(int64_t samples, int64_t batch, std::vector<double>* seconds) {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  const int64_t launches = batch / launches_;
  // The timer adds an untimed launch.
  ASSAY_RETURN_IF_ERROR(Poison(rotation_.After((samples * launches + 1) * launches_)));
  const size_t before = seconds->size();
  ASSAY_RETURN_IF_ERROR(timer_.Time(
      stream(), samples, launches, [this] { return Launch(); }, seconds));
  for (size_t i = before; i < seconds->size(); ++i) {
    (*seconds)[i] /= static_cast<double>(launches_);
  }
  return Status::Ok();
}

Status GpuCase::RunUntimed(int64_t iterations) {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  for (int64_t i = 0; i < iterations; i += launches_) ASSAY_RETURN_IF_ERROR(Launch());
  ASSAY_CUDA(cudaStreamSynchronize(stream()));
  return Status::Ok();
}

Result<Verdict> GpuCase::VerifyLast() {
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  return Check(rotation_.last());
}

int GpuCase::AddArray(int64_t bytes) {
  offsets_.push_back(set_bytes_);
  set_bytes_ += AlignUp(bytes, kAlignment);
  return static_cast<int>(offsets_.size()) - 1;
}

Status GpuCase::AllocateSets(const std::string& what, int l2_multiple) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t available, AvailableDeviceBytes());
  // PlanRotation covers twice the cache size that it is given.
  ASSAY_ASSIGN_OR_RETURN(
      rotation_,
      PlanRotation(cold_, set_bytes_, device_.l2_bytes * l2_multiple / 2, available, what));
  ASSAY_ASSIGN_OR_RETURN(memory_, DeviceBuffer::Allocate(rotation_.sets() * set_bytes_, what));
  return Status::Ok();
}

}  // namespace assay
