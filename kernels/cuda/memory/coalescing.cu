// coalescing: what a warp's loads cost when its lanes are `stride` words apart. Memory
// moves in sectors of 32 bytes, so of a sector ever less is used up to a stride of 8
// words; beyond it every lane has a sector of its own.
#include <algorithm>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/host_check.h"
#include "kernels/cuda/frame/random.cuh"

namespace assay {
namespace {

constexpr uint64_t kStreamIn = 1;
constexpr int64_t kSectorWords = 8;
constexpr int kThreads = 256;
// Loads in flight a thread.
constexpr int kUnroll = 8;

__host__ __device__ uint32_t InputWord(uint64_t seed, int64_t index) {
  return static_cast<uint32_t>(RandomBits(seed, kStreamIn, static_cast<uint64_t>(index)));
}

__global__ void FillKernel(uint32_t* in, int64_t words, uint64_t seed, int64_t first) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += step) {
    in[i] = InputWord(seed, first + i);
  }
}

// out[i] = in[i * stride]: stores are coalesced whatever the stride.
__global__ void __launch_bounds__(kThreads)
    GatherKernel(const uint32_t* in, uint32_t* out, int64_t elements, int64_t stride) {
  const int64_t first = int64_t{blockIdx.x} * kThreads * kUnroll + threadIdx.x;
  uint32_t value[kUnroll];
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) {
    const int64_t i = first + j * kThreads;
    if (i < elements) value[j] = in[i * stride];
  }
#pragma unroll
  for (int j = 0; j < kUnroll; ++j) {
    const int64_t i = first + j * kThreads;
    if (i < elements) out[i] = value[j];
  }
}

class CoalescingCase : public GpuCase {
 public:
  explicit CoalescingCase(const RunContext& context)
      : GpuCase(context),
        elements_(Integer(context.parameters, "elements")),
        stride_(Integer(context.parameters, "stride")) {}

 protected:
  Status SetUp() override {
    const int64_t words = elements_ * stride_;
    AddArray(elements_ * 4);
    AddArray(words * 4);
    ASSAY_RETURN_IF_ERROR(AllocateSets(
        "arrays of " + ApproximateBytes(elements_ * 4) + " and " + ApproximateBytes(words * 4), 4));
    for (int64_t set = 0; set < sets(); ++set) {
      const auto blocks = static_cast<unsigned>(std::clamp<int64_t>((words + 255) / 256, 1, 4096));
      FillKernel<<<blocks, 256, 0, stream()>>>(Array<uint32_t>(set, 1), words, seed(), set * words);
      ASSAY_CUDA(cudaGetLastError());
    }
    return Status::Ok();
  }

  Status Enqueue(int64_t set) override {
    constexpr int64_t kBlock = int64_t{kThreads} * kUnroll;
    const auto blocks = static_cast<unsigned>((elements_ + kBlock - 1) / kBlock);
    GatherKernel<<<blocks, kThreads, 0, stream()>>>(Array<uint32_t>(set, 1),
                                                    Array<uint32_t>(set, 0), elements_, stride_);
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  OutputRange Output(int64_t set) override { return {Array<void>(set, 0), elements_ * 4}; }

  Result<Verdict> Check(int64_t set) override {
    const int64_t first = set * elements_ * stride_;
    return CompareOnHost(
        Array<uint32_t>(set, 0), elements_,
        [&](int64_t i) { return InputWord(seed(), first + i * stride_); }, stream());
  }

 private:
  const int64_t elements_;
  const int64_t stride_;
};

class Coalescing : public Benchmark {
 public:
  Coalescing() {
    info_.name = "coalescing";
    info_.summary = "reads of words a stride apart: useful and moved bytes";
    info_.resource = Resource::kGpu;
    info_.parameters = {{"stride",
                         ParameterType::kInteger,
                         "words of 4 bytes from one lane's to the next one's",
                         "1",
                         1,
                         1024,
                         {}},
                        {"elements",
                         ParameterType::kInteger,
                         "words that are read",
                         "33554432",
                         1,
                         int64_t{1} << 34,
                         {}},
                        CacheParameter("one set of arrays"),
                        LaunchParameter()};
    info_.selftest_parameters = {{"stride", "5"}, {"elements", "98433"}};
    info_.metrics = {
        {"useful_bandwidth", "GB/s", Direction::kHigherIsBetter,
         "bytes that the kernel asks for and writes, a second", Quantity::kPayloadBytes, 1e-9},
        {"bandwidth", "GB/s", Direction::kHigherIsBetter,
         "bytes of the sectors of 32 bytes that they lie in, a second", Quantity::kBytes, 1e-9},
        TimeMetric()};
    info_.model =
        "bytes = 4 x elements x (min(stride, 8) + 1), in sectors of 32; time = bytes / bandwidth + "
        "2.5 us (0.6 us in a graph), more where memory moves larger pieces than a sector";
  }

  const BenchmarkInfo& Info() const override { return info_; }
  std::string UnsupportedReason() const override { return WhyNoGpu(); }

  Result<Work> WorkOf(const ParameterMap& parameters, int) const override {
    const auto elements = static_cast<double>(Integer(parameters, "elements"));
    const int64_t moved = std::min(Integer(parameters, "stride"), kSectorWords);
    Work work;
    work.bytes = 4 * elements * static_cast<double>(moved + 1);
    work.payload_bytes = 8 * elements;
    work.traffic = moved >= 4 ? "read" : "copy";
    work.fixed_seconds = LaunchSeconds(parameters);
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    return PrepareGpuCase<CoalescingCase>(context);
  }

 private:
  BenchmarkInfo info_;
};

}  // namespace

std::unique_ptr<Benchmark> NewCoalescing() { return std::make_unique<Coalescing>(); }

}  // namespace assay
