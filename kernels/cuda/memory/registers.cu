// The register kernels of pointer_chase and cache_bandwidth. Both consist of chains of fused
// multiply-adds (FMAs) on whole numbers below 2^24, which fp32 represents exactly. The compiler may
// not simplify such a chain, because fp32 addition is not associative.
#include <algorithm>
#include <array>
#include <limits>

#include "kernels/cuda/frame/clocked_case.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/host_check.h"
#include "kernels/cuda/frame/random.cuh"
#include "kernels/cuda/memory/registers.h"
#include "kernels/cuda/memory/work_sizes.h"

namespace assay {
namespace {

constexpr uint64_t kStreamChase = 1;
constexpr uint64_t kStreamChains = 2;

// Sets `sum` to x * y + sum.
__device__ void MultiplyAdd(float x, float y, float* sum) {
  asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(*sum) : "f"(x), "f"(y));
}

// The number of FMAs per round of the loop. They take so long that the loop's branch is negligible.
constexpr int kChaseUnroll = 256;
static_assert(kRegisterChaseSteps % kChaseUnroll == 0);

// The operands of the chain: its first sum, a factor, which is 1, and the summand of each step.
using ChaseOperands = std::array<float, 3>;

// Returns operands that keep the sum at the end of the chain below 2^20 + 2^18 * 2^5 < 2^24.
ChaseOperands OperandsOfChase(uint64_t seed) {
  const uint64_t bits = RandomBits(seed, kStreamChase, 0);
  return {static_cast<float>(bits & 0xfffff), 1, static_cast<float>(1 + (bits >> 20) % 32)};
}

// Adds the same summand kRegisterChaseSteps times, with each addition depending on the previous
// one. `operands` are loaded from memory because the compiler would not keep constants in
// registers.
__global__ void RegisterChaseKernel(const float* operands, float* end, Ticks* ticks) {
  float sum = operands[0];
  const float factor = operands[1];
  const float summand = operands[2];
  const Ticks begin = ReadClocks();
#pragma unroll 1
  for (int64_t i = 0; i < kRegisterChaseSteps; i += kChaseUnroll) {
#pragma unroll
    for (int j = 0; j < kChaseUnroll; ++j) {
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(sum) : "f"(factor), "f"(summand));
    }
  }
  AddTicks(begin, ReadClocks(), ticks);
  *end = sum;
}

class RegisterChaseCase : public ClockedCase {
 public:
  using ClockedCase::ClockedCase;

  // Returns no values for the size of the working set, because there is none.
  std::vector<double> Observed(const std::string& name) const override {
    if (name != "latency" && name != "latency_cycles") return {};
    std::vector<double> values = name == "latency" ? nanoseconds() : cycles();
    for (double& value : values) value /= static_cast<double>(kRegisterChaseSteps);
    return values;
  }

 protected:
  Status SetUp() override {
    ASSAY_RETURN_IF_ERROR(ClockedCase::SetUp());
    const ChaseOperands operands = OperandsOfChase(seed());
    ASSAY_ASSIGN_OR_RETURN(operands_, DeviceBuffer::Allocate(sizeof operands, "three operands"));
    ASSAY_ASSIGN_OR_RETURN(end_, DeviceBuffer::Allocate(sizeof(float), "the chain's end"));
    ASSAY_CUDA(cudaMemcpyAsync(operands_.data(), operands.data(), sizeof operands,
                               cudaMemcpyDefault, stream()));
    return Status::Ok();
  }

  Status Enqueue(int64_t) override {
    RegisterChaseKernel<<<1, 1, 0, stream()>>>(operands_.as<float>(), end_.as<float>(),
                                               TicksOfIteration());
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  OutputRange Output(int64_t) override { return {end_.data(), sizeof(float)}; }

  Result<Verdict> Check(int64_t) override {
    const auto [start, factor, summand] = OperandsOfChase(seed());
    const float expected = start + static_cast<float>(kRegisterChaseSteps) * summand;
    return CompareOnHost(
        end_.as<float>(), 1, [expected](int64_t) { return expected; }, stream());
  }

 private:
  DeviceBuffer operands_;
  DeviceBuffer end_;
};

constexpr int kThreads = 256;
// The number of independent sums (chains) per thread.
constexpr int kChains = 8;
constexpr int kSteps = 32;
// The number of FMAs that a block performs in one round, with kSteps FMAs per chain.
constexpr int64_t kRoundFmas = int64_t{kThreads} * kChains * kSteps;
static_assert(kRegisterFmas % kRoundFmas == 0);
constexpr int64_t kRounds = kRegisterFmas / kRoundFmas;
// The maximum number of rounds per block. Sums start below 2^16 and grow by at most 4 * 4 per step.
// They must stay below 2^24, where fp32 is exact.
constexpr int64_t kMostRoundsPerBlock = ((1 << 24) - (1 << 16)) / (16 * kSteps);

// The random operands of one thread. Each step adds Factor(chain) * Multiplier() to the sum of a
// chain, which starts at Start(chain).
struct Operands {
  uint64_t bits;

  __host__ __device__ Operands(uint64_t seed, int64_t thread)
      : bits(RandomBits(seed, kStreamChains, static_cast<uint64_t>(thread))) {}

  __host__ __device__ float Start(int chain) const {
    return static_cast<float>(bits >> (4 * chain) & 0xffff);
  }
  __host__ __device__ float Factor(int chain) const {
    return static_cast<float>(1 + (bits >> (44 + 2 * chain) & 3));
  }
  __host__ __device__ float Multiplier() const { return static_cast<float>(1 + (bits >> 62)); }
};

// Returns the number of rounds of block `block`, if all rounds are divided among `blocks` blocks.
__host__ __device__ int64_t RoundsOf(int64_t block, int64_t blocks) {
  return kRounds / blocks + (block < kRounds % blocks ? 1 : 0);
}

// Sets out[thread] to the sum of all chains of the thread. Every FMA reads three registers: the
// chain's sum, its factor, and a multiplier shared by successive FMAs. Without sharing, the
// register file would limit the speed, because multiprocessors since Volta have only two register
// banks per scheduler.
__global__ void __launch_bounds__(kThreads) RegisterBandwidthKernel(uint64_t seed, int32_t* out) {
  const int64_t thread = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const Operands operands(seed, thread);
  const float multiplier = operands.Multiplier();
  float sum[kChains];
  float factor[kChains];
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) {
    sum[chain] = operands.Start(chain);
    factor[chain] = operands.Factor(chain);
  }
#pragma unroll 1
  for (int64_t round = RoundsOf(blockIdx.x, gridDim.x); round > 0; --round) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) {
        MultiplyAdd(factor[chain], multiplier, &sum[chain]);
      }
    }
  }
  int32_t total = 0;
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) total += static_cast<int32_t>(sum[chain]);
  out[thread] = total;
}

class RegisterBandwidthCase : public GpuCase {
 public:
  using GpuCase::GpuCase;

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    const size_t before = seconds->size();
    ASSAY_RETURN_IF_ERROR(GpuCase::Run(samples, batch, seconds));
    for (size_t i = before; i < seconds->size(); ++i) best_ = std::min(best_, (*seconds)[i]);
    return Status::Ok();
  }

  // Returns the rate of this benchmark's fastest sample as the ceiling (the highest rate that the
  // GPU can reach). The usual ceiling for fp32, the rate of a matrix product, would be too low,
  // because FMAs without memory accesses are faster.
  Result<Ceilings> MeasureCeilings() override {
    Ceilings ceilings;
    ceilings.flops = 2 * static_cast<double>(kRegisterFmas) / best_;
    return ceilings;
  }

 protected:
  Status SetUp() override {
    int resident = 0;
    ASSAY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, RegisterBandwidthKernel,
                                                             kThreads, 0));
    blocks_ = std::max<int64_t>(int64_t{device().sm_count} * resident,
                                (kRounds + kMostRoundsPerBlock - 1) / kMostRoundsPerBlock);
    AddArray(threads() * static_cast<int64_t>(sizeof(int32_t)));
    return AllocateSets("the threads' sums");
  }

  Status Enqueue(int64_t set) override {
    RegisterBandwidthKernel<<<static_cast<unsigned>(blocks_), kThreads, 0, stream()>>>(
        seed(), Array<int32_t>(set, 0));
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  OutputRange Output(int64_t set) override {
    return {Array<void>(set, 0), threads() * static_cast<int64_t>(sizeof(int32_t))};
  }

  Result<Verdict> Check(int64_t set) override {
    const auto expected = [this](int64_t thread) {
      const Operands operands(seed(), thread);
      const auto steps = static_cast<float>(RoundsOf(thread / kThreads, blocks_) * kSteps);
      int32_t total = 0;
      for (int chain = 0; chain < kChains; ++chain) {
        const float added = steps * operands.Factor(chain) * operands.Multiplier();
        total += static_cast<int32_t>(operands.Start(chain) + added);
      }
      return total;
    };
    return CompareOnHost(Array<int32_t>(set, 0), threads(), expected, stream());
  }

 private:
  int64_t threads() const { return blocks_ * kThreads; }

  int64_t blocks_ = 0;
  double best_ = std::numeric_limits<double>::infinity();  // Seconds of the fastest sample.
};

}  // namespace

Result<std::unique_ptr<Case>> NewRegisterChaseCase(const RunContext& context) {
  return PrepareCase<RegisterChaseCase>(context);
}

Result<std::unique_ptr<Case>> NewRegisterBandwidthCase(const RunContext& context) {
  return PrepareCase<RegisterBandwidthCase>(context);
}

}  // namespace assay
