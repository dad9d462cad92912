// memory_bandwidth: STREAM's loops on a GPU's memory, with STREAM's counting: copy
// and scale 2 arrays an iteration, add and triad 3.
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/event_timer.h"
#include "kernels/cuda/probe.h"
#include "kernels/cuda/rotation.h"
#include "kernels/cuda/stream_kernels.h"

namespace assay {
namespace {

// A whole L2 line, so that no line belongs to two arrays.
constexpr int64_t kAlignment = 128;
constexpr double kLaunchSeconds = 2.5e-6;

StreamOp OpOf(const ParameterMap& parameters) {
  const std::string& op = Word(parameters, "op");
  if (op == "scale") return StreamOp::kScale;
  if (op == "add") return StreamOp::kAdd;
  return op == "triad" ? StreamOp::kTriad : StreamOp::kCopy;
}

class StreamCase : public Case {
 public:
  explicit StreamCase(const RunContext& context)
      : op_(OpOf(context.parameters)),
        bytes_(Integer(context.parameters, "bytes")),
        cold_(Word(context.parameters, "cache") == "cold"),
        seed_(context.seed),
        gpu_(context.gpu) {}

  Status Prepare() {
    ASSAY_ASSIGN_OR_RETURN(const GpuDevice device, UseGpu(gpu_));
    ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
    stride_ = AlignUp(bytes_, kAlignment);
    ASSAY_ASSIGN_OR_RETURN(const int64_t available, AvailableDeviceBytes());
    const std::string what =
        std::to_string(ArraysOf(op_)) + " arrays of " + ApproximateBytes(bytes_);
    ASSAY_ASSIGN_OR_RETURN(
        rotation_, PlanRotation(cold_, ArraysOf(op_) * stride_, device.l2_bytes, available, what));
    ASSAY_ASSIGN_OR_RETURN(
        memory_, DeviceBuffer::Allocate(rotation_.sets() * ArraysOf(op_) * stride_, what));
    for (int64_t set = 0; set < rotation_.sets(); ++set) {
      ASSAY_RETURN_IF_ERROR(FillStream(ArraysOfSet(set), seed_, set, stream_.get()));
    }
    return Status::Ok();
  }

  Timing HowTimed() const override { return {cold_ ? "cold" : "hot", "random", "events"}; }

  Result<Verdict> Verify() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    ASSAY_RETURN_IF_ERROR(Poison(rotation_.After(1)));
    ASSAY_RETURN_IF_ERROR(Iterate());
    return VerifyLast();
  }

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    // The timer adds an untimed iteration.
    ASSAY_RETURN_IF_ERROR(Poison(rotation_.After(samples * batch + 1)));
    return timer_.Time(
        stream_.get(), samples, batch, [this] { return Iterate(); }, seconds);
  }

  Result<Verdict> VerifyLast() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    return CheckStream(op_, ArraysOfSet(rotation_.last()), seed_, rotation_.last(), stream_.get());
  }

  Result<Ceilings> MeasureCeilings() override {
    ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
    Ceilings ceilings;
    ASSAY_ASSIGN_OR_RETURN(ceilings.bytes, ProbeCopyBandwidth(stream_.get()));
    return ceilings;
  }

 private:
  StreamArrays ArraysOfSet(int64_t set) const {
    const int64_t begin = set * ArraysOf(op_) * stride_;
    StreamArrays arrays;
    arrays.out = static_cast<float*>(memory_.At(begin));
    arrays.b = static_cast<float*>(memory_.At(begin + stride_));
    if (ArraysOf(op_) == 3) arrays.c = static_cast<float*>(memory_.At(begin + 2 * stride_));
    arrays.elements = bytes_ / static_cast<int64_t>(sizeof(float));
    return arrays;
  }

  // Every byte 0xff is NaN.
  Status Poison(int64_t set) {
    ASSAY_CUDA(
        cudaMemsetAsync(ArraysOfSet(set).out, 0xff, static_cast<size_t>(bytes_), stream_.get()));
    return Status::Ok();
  }

  Status Iterate() { return EnqueueStream(op_, ArraysOfSet(rotation_.Next()), stream_.get()); }

  const StreamOp op_;
  const int64_t bytes_;  // Of one array.
  const bool cold_;
  const uint64_t seed_;
  const int gpu_;
  int64_t stride_ = 0;  // Bytes from one array to the next.
  CudaStream stream_;
  DeviceBuffer memory_;
  Rotation rotation_;
  EventTimer timer_;
};

class MemoryBandwidth : public Benchmark {
 public:
  const BenchmarkInfo& Info() const override {
    static const BenchmarkInfo info = MakeInfo();
    return info;
  }

  std::string UnsupportedReason() const override { return WhyNoGpu(); }

  Result<Work> WorkOf(const ParameterMap& parameters, int) const override {
    const int64_t bytes = Integer(parameters, "bytes");
    if (bytes % static_cast<int64_t>(sizeof(float)) != 0) {
      return InvalidArgument("bytes is " + std::to_string(bytes) +
                             "; it must be a multiple of 4, the size of a float32");
    }
    const StreamOp op = OpOf(parameters);
    const double elements = static_cast<double>(bytes) / sizeof(float);
    Work work;
    work.bytes = ArraysOf(op) * static_cast<double>(bytes);
    if (op == StreamOp::kScale || op == StreamOp::kAdd) work.flops = elements;
    if (op == StreamOp::kTriad) work.flops = 2 * elements;
    work.peak = "fp32";
    work.payload_bytes = static_cast<double>(bytes);
    work.fixed_seconds = kLaunchSeconds;
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    ASSAY_RETURN_IF_ERROR(WorkOf(context.parameters, context.world_size).status());
    auto prepared = std::make_unique<StreamCase>(context);
    ASSAY_RETURN_IF_ERROR(prepared->Prepare());
    return std::unique_ptr<Case>(std::move(prepared));
  }

 private:
  static BenchmarkInfo MakeInfo() {
    BenchmarkInfo info;
    info.name = "memory_bandwidth";
    info.summary = "STREAM's copy, scale, add and triad on the GPU's memory, fp32";
    info.resource = Resource::kGpu;
    info.parameters = {
        {"op",
         ParameterType::kWord,
         "copy a = b; scale a = 3 b; add a = b + c; triad a = b + 3 c",
         "copy",
         {},
         {},
         {"copy", "scale", "add", "triad"}},
        {"bytes",
         ParameterType::kBytes,
         "size of each array, a multiple of 4",
         "4294967296",
         4,
         int64_t{1} << 40,
         {}},
        {"dtype", ParameterType::kWord, "type of the elements", "float32", {}, {}, {"float32"}},
        {"cache",
         ParameterType::kWord,
         "cold: rotate over 2x the L2 cache; hot: reuse one set of arrays",
         "cold",
         {},
         {},
         {"cold", "hot"}},
    };
    info.selftest_parameters = {{"op", "triad"}, {"bytes", "16777220"}};
    info.selftest_parameters = {{"op", "triad"}, {"bytes", "16777220"}};
    info.metrics = {{"bandwidth", "GB/s", Direction::kHigherIsBetter,
                     "bytes that the loop reads and writes, a second", Quantity::kBytes, 1e-9},
                    TimeMetric()};
    info.model =
        "bytes = 2 (copy, scale) or 3 (add, triad) arrays; time = bytes / bandwidth + 2.5 us";
    return info;
  }
};

}  // namespace

std::unique_ptr<Benchmark> NewMemoryBandwidth() { return std::make_unique<MemoryBandwidth>(); }

}  // namespace assay
