// The kernels of the cache_bandwidth benchmark.
#include <type_traits>

#include "common/units.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/host_check.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/frame/random.cuh"
#include "kernels/cuda/memory/cache_levels.h"
#include "kernels/cuda/memory/registers.h"
#include "kernels/cuda/memory/work_sizes.h"

namespace assay {
namespace {

constexpr int kThreads = 512;
// The number of blocks per multiprocessor when all blocks read the same working set.
// Multiprocessors that are farther from part of the L2 are slower, and having many blocks balances
// the load between them. On an H200 with a set of 16 MiB, 32 blocks read 9.54 TB/s and 4 blocks
// only 9.13 TB/s.
constexpr int kCommonBlocks = 32;
// The number of blocks that can be resident on a multiprocessor of this architecture.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kResidentBlocks = 1024 / kThreads;
#elif defined(__CUDA_ARCH__) && \
    (__CUDA_ARCH__ / 10 % 10 != 0 && __CUDA_ARCH__ != 1030 || __CUDA_ARCH__ >= 1100)
constexpr int kResidentBlocks = 1536 / kThreads;
#else
constexpr int kResidentBlocks = 2048 / kThreads;
#endif
constexpr int64_t kVectorBytes = 16;
constexpr uint64_t kStreamWords = 1;
// The number of sums that the host checks in addition to the GPU.
constexpr int64_t kHostSums = 64;

using Level = CacheLevel;

// Returns true if every multiprocessor reads its own working set, rather than one that all share.
__host__ __device__ constexpr bool IsPrivate(Level level) {
  return level == Level::kL1 || level == Level::kShared;
}

// The part of a working set that one thread reads, in vectors of 16 bytes. The set starts at vector
// `base` of the array and has `vectors` vectors. The thread reads `count` of them: vector `first`
// and every `step`-th one after it, wrapping around at the end of the set.
struct Share {
  int64_t base = 0;
  int64_t vectors = 1;
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// Divides the passes of an iteration over the working set among `blocks` blocks.
struct Division {
  bool separate = false;  // Every block has its own set; else they share one.
  int64_t vectors = 1;    // Per set.
  int64_t passes = 1;
  int64_t blocks = 1;

  __host__ __device__ Share Of(int64_t block, int64_t thread) const {
    Share share;
    share.vectors = vectors;
    // This thread's index among the threads that read the same set, the number of these threads,
    // and the total number of vectors that they read.
    int64_t reader = thread;
    int64_t readers = kThreads;
    int64_t total = 0;
    if (separate) {
      share.base = block * vectors;
      total = (passes / blocks + (block < passes % blocks ? 1 : 0)) * vectors;
    } else {
      reader += block * kThreads;
      readers *= blocks;
      total = passes * vectors;
    }
    share.first = reader % vectors;
    share.step = readers % vectors;
    share.count = total > reader ? (total - reader + readers - 1) / readers : 0;
    return share;
  }
};

__host__ __device__ uint32_t WordSum(uint64_t seed, int64_t vector) {
  const auto at = static_cast<uint64_t>(vector);
  const uint64_t low = RandomBits(seed, kStreamWords, 2 * at);
  const uint64_t high = RandomBits(seed, kStreamWords, 2 * at + 1);
  return static_cast<uint32_t>(low) + static_cast<uint32_t>(low >> 32) +
         static_cast<uint32_t>(high) + static_cast<uint32_t>(high >> 32);
}

// Returns the expected sum, modulo 2^32, of all words of a share.
__host__ __device__ uint32_t ExpectedSum(const Share& share, uint64_t seed) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < share.count; ++i) {
    sum += WordSum(seed, share.base + (share.first + i * share.step) % share.vectors);
  }
  return sum;
}

__global__ void FillKernel(ulonglong2* data, int64_t vectors, uint64_t seed) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < vectors; i += step) {
    const auto at = static_cast<uint64_t>(i);
    data[i] = {RandomBits(seed, kStreamWords, 2 * at), RandomBits(seed, kStreamWords, 2 * at + 1)};
  }
}

__global__ void CheckKernel(Division division, uint64_t seed, const uint32_t* sums,
                            Mismatches* mismatches) {
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (sums[at] != ExpectedSum(division.Of(blockIdx.x, threadIdx.x), seed)) Report(mismatches, at);
}

template <Level level>
__device__ uint4 Load(uint64_t address) {
  uint4 v;
  if constexpr (level == Level::kL1) {
    asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address));
  } else if constexpr (level == Level::kShared) {
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(static_cast<uint32_t>(address)));
  } else {
    // Bypasses the L1.
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address));
  }
  return v;
}

// Returns the sum, modulo 2^32, of all words in a thread's share of the working set. The set starts
// at `address`.
template <Level level>
__device__ uint32_t ReadShare(uint64_t address, const Share& share) {
  // A position in the working set, as a byte offset, so that computing the address of a load takes
  // just one addition. 32 bits suffice for the working set of one multiprocessor (at most 256 KiB),
  // but a set that all multiprocessors share may exceed 4 GiB.
  using Position = std::conditional_t<IsPrivate(level), uint32_t, uint64_t>;
  const auto end = static_cast<Position>(share.vectors * kVectorBytes);
  const auto step = static_cast<Position>(share.step * kVectorBytes);
  auto at = static_cast<Position>(share.first * kVectorBytes);
  uint32_t sum = 0;
  const auto advance = [&] {
    at += step;
    if (at >= end) at -= end;
  };
  const auto add = [&](const uint4& v) { sum += v.x + v.y + v.z + v.w; };
  constexpr int kUnroll = IsPrivate(level) ? 8 : 4;
  int64_t left = share.count;
#pragma unroll 1
  for (; left >= kUnroll; left -= kUnroll) {
    uint4 v[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      v[i] = Load<level>(address + at);
      advance();
    }
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) add(v[i]);
  }
  for (; left > 0; --left) {
    add(Load<level>(address + at));
    advance();
  }
  return sum;
}

// Reads the working set. Each thread reads its share and writes the sum of its words to `sums`, at
// the thread's index in the grid. For L1 and shared memory, only one block runs on each
// multiprocessor.
template <Level level>
__global__ void __launch_bounds__(kThreads, IsPrivate(level) ? 1 : kResidentBlocks)
    ReadKernel(Division division, const ulonglong2* data, uint32_t* sums) {
  const Share share = division.Of(blockIdx.x, threadIdx.x);
  const ulonglong2* const set = data + share.base;
  auto address = reinterpret_cast<uint64_t>(set);
  if constexpr (level == Level::kShared) {
    extern __shared__ ulonglong2 shared[];
    for (int64_t i = threadIdx.x; i < share.vectors; i += kThreads) shared[i] = set[i];
    __syncthreads();
    address = __cvta_generic_to_shared(shared);
  }
  sums[int64_t{blockIdx.x} * kThreads + threadIdx.x] = ReadShare<level>(address, share);
}

using Kernel = void (*)(Division, const ulonglong2*, uint32_t*);

Kernel KernelOf(Level level) {
  if (level == Level::kL1) return ReadKernel<Level::kL1>;
  return level == Level::kShared ? ReadKernel<Level::kShared> : ReadKernel<Level::kL2>;
}

class CacheBandwidthCase : public GpuCase {
 public:
  explicit CacheBandwidthCase(const RunContext& context)
      : GpuCase(context),
        level_word_(Word(context.parameters, "level")),
        level_(CacheLevelOf(Word(context.parameters, "level"))),
        bytes_(Integer(context.parameters, "bytes")),
        kernel_(KernelOf(level_)) {}

  Timing HowTimed() const override {
    Timing timing = GpuCase::HowTimed();
    if (level_ == Level::kMemory) timing.cache = "cold";
    return timing;
  }

 protected:
  Status SetUp() override {
    ASSAY_RETURN_IF_ERROR(
        CheckLevel(level_word_, bytes_,
                   {UnifiedL1Bytes(device().compute_major, device().compute_minor),
                    device().shared_bytes_per_block, device().l2_bytes}));
    int carveout = cudaSharedmemCarveoutMaxL1;
    if (level_ == Level::kShared) {
      carveout = cudaSharedmemCarveoutMaxShared;
      ASSAY_CUDA(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(bytes_)));
    }
    ASSAY_CUDA(
        cudaFuncSetAttribute(kernel_, cudaFuncAttributePreferredSharedMemoryCarveout, carveout));
    division_.separate = IsPrivate(level_);
    division_.vectors = bytes_ / kVectorBytes;
    division_.passes = CachePasses(bytes_);
    division_.blocks = device().sm_count * (division_.separate ? 1 : kCommonBlocks);
    const int64_t total = division_.separate ? bytes_ * division_.blocks : bytes_;
    AddArray(threads() * 4);
    AddArray(total);
    ASSAY_RETURN_IF_ERROR(AllocateSets("working sets of " + ApproximateBytes(total)));
    FillKernel<<<1024, 256, 0, stream()>>>(Array<ulonglong2>(0, 1), total / kVectorBytes, seed());
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  Status Enqueue(int64_t set) override {
    const size_t shared = level_ == Level::kShared ? static_cast<size_t>(bytes_) : 0;
    kernel_<<<static_cast<unsigned>(division_.blocks), kThreads, shared, stream()>>>(
        division_, Array<ulonglong2>(set, 1), Array<uint32_t>(set, 0));
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  OutputRange Output(int64_t set) override { return {Array<void>(set, 0), threads() * 4}; }

  Result<Verdict> Check(int64_t set) override {
    auto* const sums = Array<uint32_t>(set, 0);
    ASSAY_ASSIGN_OR_RETURN(const MismatchCounter counter, MismatchCounter::Create(stream()));
    CheckKernel<<<static_cast<unsigned>(division_.blocks), kThreads, 0, stream()>>>(
        division_, seed(), sums, counter.device());
    ASSAY_CUDA(cudaGetLastError());
    ASSAY_ASSIGN_OR_RETURN(const Verdict verdict,
                           counter.Read(sums, threads(), sizeof(uint32_t), stream()));
    if (!verdict.passed) return verdict;
    std::vector<uint32_t> all(static_cast<size_t>(threads()));
    ASSAY_CUDA(cudaMemcpy(all.data(), sums, all.size() * sizeof(uint32_t), cudaMemcpyDefault));
    return CheckOnHost(all, verdict);
  }

 private:
  int64_t threads() const { return division_.blocks * kThreads; }

  // Recomputes kHostSums of the threads' sums on the host and compares them with the GPU's sums.
  // Adds any mismatches to `verdict`, the result of the check on the GPU, and returns it.
  Result<Verdict> CheckOnHost(const std::vector<uint32_t>& sums, Verdict verdict) const {
    verdict.reference =
        "exact sums, every one on device, " + std::to_string(kHostSums) + " on host";
    for (int64_t i = 0; i < kHostSums; ++i) {
      const int64_t at = i * (threads() - 1) / (kHostSums - 1);
      const uint32_t expected = ExpectedSum(division_.Of(at / kThreads, at % kThreads), seed());
      const uint32_t actual = sums[static_cast<size_t>(at)];
      if (actual == expected) continue;
      verdict.passed = false;
      verdict.error += 1;
      verdict.detail = "the sum of thread " + std::to_string(at) + " is " + std::to_string(actual) +
                       ", should be " + std::to_string(expected);
    }
    return verdict;
  }

  const std::string level_word_;
  const Level level_;
  const int64_t bytes_;
  const Kernel kernel_;
  Division division_;
};

}  // namespace

Result<std::unique_ptr<Case>> NewCacheBandwidthCase(const RunContext& context) {
  if (Word(context.parameters, "level") == "registers") return NewRegisterBandwidthCase(context);
  return PrepareCase<CacheBandwidthCase>(context);
}

}  // namespace assay
