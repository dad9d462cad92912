// The kernel of the bank_conflict benchmark.
#include "kernels/cuda/frame/clocked_case.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/host_check.h"
#include "kernels/cuda/frame/random.cuh"
#include "kernels/cuda/memory/work_sizes.h"

namespace assay {
namespace {

constexpr int kThreads = kBankConflictWarps * 32;
constexpr int kRounds = kBankConflictRounds;
constexpr int kUnroll = kBankConflictRows;
// The number of rows of 32 words in shared memory. A lane starts in one of up to 32 rows and reads
// kUnroll consecutive rows of its bank.
constexpr int kRows = 32 + kUnroll;
constexpr uint64_t kStreamWords = 1;

__host__ __device__ uint32_t WordAt(uint64_t seed, int index) {
  return static_cast<uint32_t>(RandomBits(seed, kStreamWords, static_cast<uint64_t>(index)));
}

// Returns the index of the first word that a lane reads. The lanes of a warp form groups of `ways`.
// Within a group, all lanes use the same bank, each in a different row.
__host__ __device__ int FirstWord(int lane, int ways) { return lane % ways * kBanks + lane / ways; }

// Loads a word. The load is volatile, because every round loads the same words.
__device__ uint32_t LoadShared(unsigned address) {
  uint32_t word;
  asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}

// Sets out[thread] to the sum of the words that the thread read, modulo 2^32.
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
  // After this barrier, the loads of all warps have completed.
  __syncthreads();
  if (threadIdx.x == 0) AddTicks(begin, ReadClocks(), ticks);
}

class BankConflictCase : public ClockedCase {
 public:
  explicit BankConflictCase(const RunContext& context)
      : ClockedCase(context), ways_(static_cast<int>(Integer(context.parameters, "ways"))) {}

  std::vector<double> Observed(const std::string&) const override {
    std::vector<double> values = cycles();
    for (double& value : values) value /= kBankConflictWarps * kRounds * kUnroll;
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

}  // namespace

Result<std::unique_ptr<Case>> NewBankConflictCase(const RunContext& context) {
  return PrepareCase<BankConflictCase>(context);
}

}  // namespace assay
