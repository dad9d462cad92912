// bank_conflict: what a warp's load from shared memory costs when `ways` of its lanes want
// different words of one bank. The 32 banks of 4 bytes serve one word each a cycle.
#include "kernels/cuda/frame/clocked_case.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/host_check.h"
#include "kernels/cuda/frame/random.cuh"

namespace assay {
namespace {

constexpr int kBanks = 32;
// Enough warps that the banks, not the latency of a load, are what limits.
constexpr int kWarps = 8;
constexpr int kThreads = kWarps * 32;
// Of a warp: rounds over the same `kUnroll` rows.
constexpr int kRounds = 256;
constexpr int kUnroll = 16;
// Lanes begin in up to 32 rows; each reads the next kUnroll of its bank.
constexpr int kRows = 32 + kUnroll;
constexpr uint64_t kStreamWords = 1;

__host__ __device__ uint32_t WordAt(uint64_t seed, int index) {
  return static_cast<uint32_t>(RandomBits(seed, kStreamWords, static_cast<uint64_t>(index)));
}

// Where a lane begins, in words: lanes share a bank by `ways`, each in a row of its own.
__host__ __device__ int FirstWord(int lane, int ways) { return lane % ways * kBanks + lane / ways; }

// Volatile, since every round loads the same words.
__device__ uint32_t LoadShared(unsigned address) {
  uint32_t word;
  asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}

// out[thread] = the sum of the words that it read, modulo 2^32.
__global__ void __launch_bounds__(kThreads)
    BankConflictKernel(int ways, uint64_t seed, uint32_t* out, Ticks* ticks) {
  __shared__ uint32_t words[kRows * kBanks];
  for (int i = threadIdx.x; i < kRows * kBanks; i += kThreads) words[i] = WordAt(seed, i);
  const auto base = static_cast<unsigned>(__cvta_generic_to_shared(words));
  const unsigned first = base + 4U * static_cast<unsigned>(FirstWord(threadIdx.x % 32, ways));
  uint32_t sum = 0;
  __syncthreads();
  const Ticks begin = ReadClocks();
#pragma unroll 1
  for (int round = 0; round < kRounds; ++round) {
#pragma unroll
    for (int row = 0; row < kUnroll; ++row) sum += LoadShared(first + 4U * kBanks * row);
  }
  out[threadIdx.x] = sum;
  // All warps have ended, their loads with them.
  __syncthreads();
  if (threadIdx.x == 0) AddTicks(begin, ReadClocks(), ticks);
}

class BankConflictCase : public ClockedCase {
 public:
  explicit BankConflictCase(const RunContext& context)
      : ClockedCase(context), ways_(static_cast<int>(Integer(context.parameters, "ways"))) {}

  std::vector<double> Observed(const std::string&) const override {
    std::vector<double> values = cycles();
    for (double& value : values) value /= kWarps * kRounds * kUnroll;
    return values;
  }

 protected:
  Status SetUp() override {
    ASSAY_RETURN_IF_ERROR(ClockedCase::SetUp());
    AddArray(kThreads * 4);
    return AllocateSets("the threads' sums");
  }

  Status Enqueue(int64_t set) override {
    BankConflictKernel<<<1, kThreads, 0, stream()>>>(ways_, seed(), Array<uint32_t>(set, 0),
                                                     TicksOfIteration());
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  OutputRange Output(int64_t set) override { return {Array<void>(set, 0), kThreads * 4}; }

  Result<Verdict> Check(int64_t set) override {
    const auto expected = [this](int64_t thread) {
      uint32_t sum = 0;
      for (int row = 0; row < kUnroll; ++row) {
        sum += WordAt(seed(), FirstWord(static_cast<int>(thread % 32), ways_) + row * kBanks);
      }
      return sum * kRounds;
    };
    return CompareOnHost(Array<uint32_t>(set, 0), kThreads, expected, stream());
  }

 private:
  const int ways_;
};

class BankConflict : public Benchmark {
 public:
  BankConflict() {
    info_.name = "bank_conflict";
    info_.summary = "cycles of a shared-memory load by how many lanes share a bank";
    info_.resource = Resource::kGpu;
    info_.parameters = {{"ways",
                         ParameterType::kInteger,
                         "lanes of a warp that want different words of the same bank",
                         "1",
                         1,
                         kBanks,
                         {}}};
    info_.selftest_parameters = {{"ways", "3"}};
    info_.metrics = {{"cycles_per_access", "cycles", Direction::kLowerIsBetter,
                      "clock cycles of the multiprocessor for one warp's load of 32 words, read in "
                      "the kernel, 8 warps at once",
                      Quantity::kObserved, 1},
                     TimeMetric()};
    info_.model = "a load takes `ways` cycles; 32768 of them an iteration, on one multiprocessor";
    info_.prediction =
        "predicted = ways x 32768 cycles at the clock that the sheet's fp32 peak assumes + 2.5 us: "
        "the 32 banks serve a word each a clock (CUDA C++ Programming Guide). Efficiency: those "
        "cycles over the median time.";
  }

  const BenchmarkInfo& Info() const override { return info_; }
  std::string UnsupportedReason() const override { return WhyNoGpu(); }

  Result<Work> WorkOf(const ParameterMap& parameters, int) const override {
    constexpr double kBytesPerCycle = 4 * kBanks;
    Work work;
    work.operations = kWarps * kRounds * kUnroll;
    work.sm_amount =
        static_cast<double>(Integer(parameters, "ways")) * work.operations * kBytesPerCycle;
    work.sm_rate = SmRate::kSharedBytes;
    work.sm_count = 1;
    work.fixed_seconds = LaunchSeconds(parameters);
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    return PrepareGpuCase<BankConflictCase>(context);
  }

 private:
  BenchmarkInfo info_;
};

}  // namespace

std::unique_ptr<Benchmark> NewBankConflict() { return std::make_unique<BankConflict>(); }

}  // namespace assay
