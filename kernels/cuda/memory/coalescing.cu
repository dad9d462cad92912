// The kernel of the coalescing benchmark: a gather in which the lanes of a warp load words that are
// `stride` words apart.
#include <algorithm>

#include "common/units.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/host_check.h"
#include "kernels/cuda/frame/random.cuh"

namespace assay {
namespace {

constexpr uint64_t kStreamIn = 1;
constexpr int kThreads = 256;
// The number of loads that each thread has in flight.
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

// Computes out[i] = in[i * stride]. Stores are coalesced for every stride.
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

}  // namespace

Result<std::unique_ptr<Case>> NewCoalescingCase(const RunContext& context) {
  return PrepareCase<CoalescingCase>(context);
}

}  // namespace assay
