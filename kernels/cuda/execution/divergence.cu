// The divergence benchmark, which measures how much time a warp loses when its lanes take different
// branches. The warp executes every branch taken by any of its lanes, one after another. All
// branches do the same amount of work but share no instructions.
#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cuda/execution/work_sizes.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/host_check.h"
#include "kernels/cuda/frame/random.cuh"

namespace assay {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kSteps = kDivergenceSteps;
constexpr int kUnroll = 16;
constexpr uint64_t kStreamIn = 1;

// Return the constants of a branch. Each step of the branch replaces x with Factor() * x +
// Summand() modulo 2^32, as in a linear congruential generator.
__host__ __device__ constexpr uint32_t Factor(int branch) {
  return 1664525U + 8U * static_cast<uint32_t>(branch);
}
__host__ __device__ constexpr uint32_t Summand(int branch) {
  return 1013904223U + 2U * static_cast<uint32_t>(branch);
}

__host__ __device__ uint32_t InputOf(uint64_t seed, int64_t thread) {
  return static_cast<uint32_t>(RandomBits(seed, kStreamIn, static_cast<uint64_t>(thread)));
}

// The constants are part of the instructions, so that no two branches can share them.
template <int branch>
__device__ uint32_t TakeBranch(uint32_t x) {
  constexpr uint32_t kFactor = Factor(branch);
  constexpr uint32_t kSummand = Summand(branch);
#pragma unroll 1
  for (int64_t step = 0; step < kSteps; step += kUnroll) {
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "n"(kFactor), "n"(kSummand));
    }
  }
  return x;
}

// Executes branch `branch`; `numbers` holds the numbers of all branches.
template <int... numbers>
__device__ uint32_t TakeOne(int branch, uint32_t x, std::integer_sequence<int, numbers...>) {
  uint32_t result = x;
  static_cast<void>(((branch == numbers && (result = TakeBranch<numbers>(x), true)) || ...));
  return result;
}

__global__ void __launch_bounds__(kThreads)
    DivergenceKernel(int branches, uint64_t seed, int64_t threads, uint32_t* out) {
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (thread >= threads) return;
  const int branch = static_cast<int>(threadIdx.x % 32) % branches;
  out[thread] =
      TakeOne(branch, InputOf(seed, thread), std::make_integer_sequence<int, kMaxBranches>());
}

// Returns {factor, summand} of one step that is equivalent to all steps of a branch.
std::pair<uint32_t, uint32_t> AllSteps(int branch) {
  uint32_t factor = Factor(branch);
  uint32_t summand = Summand(branch);
  std::pair<uint32_t, uint32_t> all = {1, 0};
  for (int64_t left = kSteps; left > 0; left /= 2) {
    if (left % 2 == 1) all = {all.first * factor, all.second * factor + summand};
    summand = summand * factor + summand;
    factor *= factor;
  }
  return all;
}

class DivergenceCase : public GpuCase {
 public:
  explicit DivergenceCase(const RunContext& context)
      : GpuCase(context),
        branches_(static_cast<int>(Integer(context.parameters, "branches"))),
        threads_(Integer(context.parameters, "threads")) {}

 protected:
  Status SetUp() override {
    AddArray(threads_ * 4);
    return AllocateSets("one word for each of " + std::to_string(threads_) + " threads");
  }

  Status Enqueue(int64_t set) override {
    const auto blocks = static_cast<unsigned>((threads_ + kThreads - 1) / kThreads);
    DivergenceKernel<<<blocks, kThreads, 0, stream()>>>(branches_, seed(), threads_,
                                                        Array<uint32_t>(set, 0));
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  OutputRange Output(int64_t set) override { return {Array<void>(set, 0), threads_ * 4}; }

  Result<Verdict> Check(int64_t set) override {
    std::array<std::pair<uint32_t, uint32_t>, kMaxBranches> steps;
    for (int branch = 0; branch < kMaxBranches; ++branch) {
      steps[static_cast<size_t>(branch)] = AllSteps(branch);
    }
    const auto expected = [&](int64_t thread) {
      const auto& [factor, summand] = steps[static_cast<size_t>(thread % 32 % branches_)];
      return factor * InputOf(seed(), thread) + summand;
    };
    return CompareOnHost(Array<uint32_t>(set, 0), threads_, expected, stream());
  }

 private:
  const int branches_;
  const int64_t threads_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewDivergenceCase(const RunContext& context) {
  return PrepareCase<DivergenceCase>(context);
}

}  // namespace assay
