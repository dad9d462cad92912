// memory_bandwidth: STREAM's loops on a GPU's memory, with STREAM's counting (copy and
// scale 2 arrays an iteration, add and triad 3), and the ways that go in one direction.
#include <string>
#include <utility>

#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/memory/stream_kernels.h"

namespace assay {
namespace {

constexpr int64_t kElementBytes = sizeof(float);

StreamOp OpOf(const ParameterMap& parameters) {
  static constexpr std::pair<const char*, StreamOp> kOps[] = {
      {"scale", StreamOp::kScale}, {"add", StreamOp::kAdd},     {"triad", StreamOp::kTriad},
      {"read", StreamOp::kRead},   {"write", StreamOp::kWrite}, {"memset", StreamOp::kMemset}};
  const std::string& word = Word(parameters, "op");
  for (const auto& [name, op] : kOps) {
    if (word == name) return op;
  }
  return StreamOp::kCopy;
}

class StreamCase : public GpuCase {
 public:
  explicit StreamCase(const RunContext& context)
      : GpuCase(context),
        op_(OpOf(context.parameters)),
        elements_(Integer(context.parameters, "bytes") / kElementBytes) {}

 protected:
  Status SetUp() override {
    AddArray(OutputElements(op_, elements_) * kElementBytes);
    for (int input = 0; input < InputsOf(op_); ++input) AddArray(elements_ * kElementBytes);
    ASSAY_RETURN_IF_ERROR(AllocateSets(
        std::to_string(ArraysOf(op_)) + " arrays of " + ApproximateBytes(elements_ * kElementBytes),
        4));
    for (int64_t set = 0; set < sets(); ++set) {
      ASSAY_RETURN_IF_ERROR(FillStream(ArraysOfSet(set), InputsOfSet(set), stream()));
    }
    return Status::Ok();
  }

  Status Enqueue(int64_t set) override {
    return EnqueueStream(op_, ArraysOfSet(set), InputsOfSet(set), stream());
  }

  OutputRange Output(int64_t set) override {
    return {Array<void>(set, 0), OutputElements(op_, elements_) * kElementBytes};
  }

  Result<Verdict> Check(int64_t set) override {
    return CheckStream(op_, ArraysOfSet(set), InputsOfSet(set), stream());
  }

 private:
  StreamArrays ArraysOfSet(int64_t set) const {
    StreamArrays arrays;
    arrays.out = Array<float>(set, 0);
    if (InputsOf(op_) >= 1) arrays.b = Array<float>(set, 1);
    if (InputsOf(op_) == 2) arrays.c = Array<float>(set, 2);
    arrays.elements = elements_;
    return arrays;
  }

  StreamInputs InputsOfSet(int64_t set) const { return {seed(), set, zeros()}; }

  const StreamOp op_;
  const int64_t elements_;  // Of one array.
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
    const StreamOp op = OpOf(parameters);
    const int64_t whole = bytes / kElementBytes;
    const auto elements = static_cast<double>(whole);
    Work work;
    work.bytes = ArraysOf(op) * static_cast<double>(bytes);
    if (op == StreamOp::kScale || op == StreamOp::kAdd || op == StreamOp::kRead) {
      work.flops = elements;
    }
    if (op == StreamOp::kTriad) work.flops = 2 * elements;
    work.peak = "fp32";
    if (op == StreamOp::kRead) work.traffic = "read";
    if (InputsOf(op) == 0) work.traffic = "write";
    work.payload_bytes = static_cast<double>(bytes);
    work.fixed_seconds = LaunchSeconds(parameters);
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    ASSAY_RETURN_IF_ERROR(WorkOf(context.parameters, context.world_size).status());
    return PrepareGpuCase<StreamCase>(context);
  }

 private:
  static BenchmarkInfo MakeInfo() {
    BenchmarkInfo info;
    info.name = "memory_bandwidth";
    // 2: dtype is "fp32"; a cold cache is 4x the L2, which was 2x.
    info.version = 2;
    info.summary = "STREAM's loops, reads and writes on the GPU's memory, fp32";
    info.resource = Resource::kGpu;
    info.parameters = {
        {"op",
         ParameterType::kWord,
         "copy a = b; scale a = 3 b; add a = b + c; triad a = b + 3 c; read sums of b; "
         "write a = pattern; memset cudaMemset of a",
         "copy",
         {},
         {},
         {"copy", "scale", "add", "triad", "read", "write", "memset"}},
        {"bytes",
         ParameterType::kBytes,
         "size of each array",
         "4294967296",
         4,
         int64_t{1} << 40,
         {},
         {},
         {kElementBytes}},
        DtypeParameter({"fp32"}),
        FillParameter(),
        CacheParameter("one set of arrays"),
        LaunchParameter(),
    };
    info.selftest_parameters = {{"op", "triad"}, {"bytes", "16777220"}};
    info.metrics = {{"bandwidth", "GB/s", Direction::kHigherIsBetter,
                     "bytes that the loop reads and writes, a second", Quantity::kBytes, 1e-9},
                    TimeMetric()};
    info.model =
        "bytes = 1 (read, write, memset), 2 (copy, scale) or 3 (add, triad) arrays, without the "
        "sums that a read writes, one of 4096 elements; time = bytes / bandwidth + 2.5 us (0.6 us "
        "in a graph)";
    return info;
  }
};

}  // namespace

std::unique_ptr<Benchmark> NewMemoryBandwidth() { return std::make_unique<MemoryBandwidth>(); }

}  // namespace assay
