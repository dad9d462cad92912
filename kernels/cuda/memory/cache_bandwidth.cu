// cache_bandwidth: how fast all multiprocessors together read a working set again and
// again: from their L1 caches, the L2 cache, memory, or shared memory.
#include <type_traits>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/host_check.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/frame/random.cuh"
#include "kernels/cuda/memory/cache_levels.h"

namespace assay {
namespace {

constexpr int kThreads = 512;
// Blocks of a multiprocessor where all of them read one set: many, since those farther
// from a part of the L2 take longer for as much. On an H200 8 GiB of 16 MiB were read by 32
// blocks, 4 loads of 16 bytes in flight a thread, at 9.54 TB/s, by 4 blocks at 9.13.
constexpr int kCommonBlocks = 32;
// Those of them that a multiprocessor of this architecture holds at a time.
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
// Bytes of an iteration, at least: long enough that its launch is lost in it.
constexpr int64_t kIterationBytes = int64_t{8} << 30;
// Sums that the host makes again.
constexpr int64_t kHostSums = 64;

// kL2 is also that of `level: none`: past the L1, and from wherever the set is.
enum class Level { kL1, kL2, kMemory, kShared };

Level LevelOf(const ParameterMap& parameters) {
  const std::string& word = Word(parameters, "level");
  if (word == "l1") return Level::kL1;
  if (word == "shared") return Level::kShared;
  return word == "hbm" ? Level::kMemory : Level::kL2;
}

// Whether every multiprocessor reads for itself, as against all of them one set.
__host__ __device__ constexpr bool IsPrivate(Level level) {
  return level == Level::kL1 || level == Level::kShared;
}

// Times that an iteration reads the working set.
int64_t PassesOf(int64_t bytes) { return (kIterationBytes + bytes - 1) / bytes; }

// What one thread reads: `count` vectors, the first at `first`, each `step` further on,
// around and around a set of `vectors` that begins `base` vectors into the array.
struct Share {
  int64_t base = 0;
  int64_t vectors = 1;
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
};

// How an iteration's passes divide among `blocks` blocks.
struct Division {
  bool separate = false;  // Sets of the blocks; else they share one.
  int64_t vectors = 1;    // Of a set.
  int64_t passes = 1;
  int64_t blocks = 1;

  __host__ __device__ Share Of(int64_t block, int64_t thread) const {
    Share share;
    share.vectors = vectors;
    // Of the readers of one set: which this is, how many, what all of them read.
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

// The sum, modulo 2^32, of all words of a share: what the thread should find.
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
    // Past the L1.
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(address));
  }
  return v;
}

// The sum of a share whose set begins at `address`.
template <Level level>
__device__ uint32_t ReadShare(uint64_t address, const Share& share) {
  // In bytes, so that a load needs no more than an addition; private sets are at most
  // 256 KiB, others may be beyond 4 GiB.
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

// sums[thread of the grid] = the sum of its share. Private readers are alone on their
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
        level_(LevelOf(context.parameters)),
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
    division_.passes = PassesOf(bytes_);
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

  // kHostSums sums from first to last; `verdict` is that of the device.
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

class CacheBandwidth : public Benchmark {
 public:
  CacheBandwidth() {
    info_.name = "cache_bandwidth";
    info_.summary = "read bandwidth of L1, L2, memory and shared memory, all multiprocessors";
    info_.resource = Resource::kGpu;
    info_.parameters = {
        {"level",
         ParameterType::kWord,
         "none: all multiprocessors read one working set, past their L1, from wherever it is; l2 "
         "and hbm: the same, and refused if the working set is larger than the L2, or below 8 "
         "times it; l1: each reads a working set of its own through its L1, at most as large; "
         "shared: each from its shared memory",
         "none",
         {},
         {},
         {"none", "l2", "l1", "hbm", "shared"}},
        {"bytes",
         ParameterType::kBytes,
         "working set: of all, or for l1 and shared of each multiprocessor, where the default is "
         "too large; with level none, one larger than the L2 shows what lies behind it",
         "16777216",
         kVectorBytes,
         int64_t{1} << 39,
         {},
         {},
         {kVectorBytes},
         {PrivateLimit("level", {"l1", "shared"})}},
        LaunchParameter()};
    info_.selftest_parameters = {{"bytes", "1000016"}};
    info_.metrics = {{"bandwidth", "GB/s", Direction::kHigherIsBetter, "bytes read a second",
                      Quantity::kPayloadBytes, 1e-9},
                     TimeMetric()};
    info_.model = "an iteration reads the working set until 8 GiB are read";
    info_.prediction =
        "level hbm: predicted = bytes / the sheet's memory bandwidth + 2.5 us (0.6 us in a graph); "
        "l1 and shared: bytes / (128 a clock and multiprocessor x the clock that the sheet's fp32 "
        "peak assumes) + as much, for 32 banks serve 4 bytes each a clock (CUDA C++ Programming "
        "Guide); l2 and none: none, for no spec sheet gives the L2's bandwidth. Efficiency: the "
        "first term over the median time.";
  }

  const BenchmarkInfo& Info() const override { return info_; }
  std::string UnsupportedReason() const override { return WhyNoGpu(); }

  Result<Work> WorkOf(const ParameterMap& parameters, int) const override {
    const int64_t bytes = Integer(parameters, "bytes");
    Work work;
    work.payload_bytes = static_cast<double>(PassesOf(bytes)) * static_cast<double>(bytes);
    const Level level = LevelOf(parameters);
    if (level == Level::kMemory) work.bytes = work.payload_bytes;
    if (IsPrivate(level)) {
      work.sm_amount = work.payload_bytes;
      work.sm_rate = SmRate::kSharedBytes;
    }
    work.traffic = Traffic::kRead;
    work.fixed_seconds = LaunchSeconds(parameters);
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    return PrepareGpuCase<CacheBandwidthCase>(context);
  }

 private:
  BenchmarkInfo info_;
};

}  // namespace

std::unique_ptr<Benchmark> NewCacheBandwidth() { return std::make_unique<CacheBandwidth>(); }

}  // namespace assay
