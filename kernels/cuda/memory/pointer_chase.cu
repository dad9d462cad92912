// The kernels of the pointer_chase benchmark. They follow one random cycle through the working set,
// so that no prefetcher can predict the next address and no element is revisited before all the
// others have been visited.
#include <algorithm>
#include <cmath>

#include "common/units.h"
#include "kernels/cuda/frame/clocked_case.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/memory/cache_levels.h"
#include "kernels/cuda/memory/pointer_chain.cuh"
#include "kernels/cuda/memory/registers.h"
#include "kernels/cuda/memory/work_sizes.h"
#include "measure/plateau.h"

namespace assay {
namespace {

constexpr int64_t kLoads = kChaseLoads;
constexpr int kUnroll = 32;
static_assert(kLoads % kUnroll == 0);
constexpr int kThreads = 1024;
// The maximum size, in elements and in bytes, of a chain of pointers that the host also checks, by
// walking the whole cycle.
constexpr int64_t kHostWalk = 65536;
constexpr int64_t kHostWalkBytes = int64_t{64} << 20;

__device__ unsigned LoadShared(unsigned address) {
  unsigned next;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(next) : "r"(address) : "memory");
  return next;
}

// Follows kLoads pointers, starting at `at`, in one thread. Returns the address at which the walk
// ends.
template <typename Address, Address (*load)(Address)>
__device__ Address Walk(Address at, Ticks* ticks) {
  const Ticks begin = ReadClocks();
#pragma unroll 1
  for (int64_t i = 0; i < kLoads; i += kUnroll) {
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) at = load(at);
  }
  AddTicks(begin, ReadClocks(), ticks);
  return at;
}

// Reads the first `warm_bytes` of the working set with all threads, then walks the chain of
// pointers with one thread. The first reads fill the L1 cache and the part of the L2 that is close
// to this multiprocessor. Sets `*end` to the position at which the walk ends, as a byte offset from
// the base.
__global__ void __launch_bounds__(kThreads)
    GlobalChaseKernel(PointerChain chain, int64_t warm_bytes, uint64_t start, int64_t* end,
                      Ticks* ticks) {
  const auto base = reinterpret_cast<uint64_t>(chain.base);
  uint64_t all = 0;
  for (int64_t at = threadIdx.x * chain.stride; at < warm_bytes; at += kThreads * chain.stride) {
    all |= LoadGlobal(base + static_cast<uint64_t>(at));
  }
  // Never true, because addresses are even. The condition just makes the thread wait for its loads.
  if (all == 1) *end = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    *end = static_cast<int64_t>(Walk<uint64_t, LoadGlobal>(start, ticks) - base);
  }
}

__global__ void __launch_bounds__(kThreads)
    SharedChaseKernel(PointerChain chain, uint64_t start, int64_t* end, Ticks* ticks) {
  extern __shared__ __align__(16) char shared[];
  const auto shared_base = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const auto base = reinterpret_cast<uint64_t>(chain.base);
  for (int64_t at = threadIdx.x * chain.stride; at < chain.bytes(); at += kThreads * chain.stride) {
    const uint64_t next = LoadGlobal(base + static_cast<uint64_t>(at)) - base;
    *reinterpret_cast<unsigned*>(shared + at) = shared_base + static_cast<unsigned>(next);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned first = shared_base + static_cast<unsigned>(start - base);
    *end = static_cast<int64_t>(Walk<unsigned, LoadShared>(first, ticks) - shared_base);
  }
}

class PointerChaseCase : public ClockedCase {
 public:
  explicit PointerChaseCase(const RunContext& context)
      : ClockedCase(context),
        level_(Word(context.parameters, "level")),
        shared_(Word(context.parameters, "space") == "shared"),
        bytes_(Integer(context.parameters, "bytes")),
        window_(Integer(context.parameters, "window")) {
    chain_.stride = Integer(context.parameters, "stride");
  }

  std::vector<double> Observed(const std::string& name) const override {
    std::vector<double> values = name == "latency" ? nanoseconds() : cycles();
    for (double& value : values) value /= static_cast<double>(kLoads);
    if (name == "working_set") std::fill(values.begin(), values.end(), bytes_);
    if (name == "level_capacity") std::fill(values.begin(), values.end(), capacity_);
    return values;
  }

 protected:
  Status SetUp() override {
    ASSAY_RETURN_IF_ERROR(ClockedCase::SetUp());
    ASSAY_ASSIGN_OR_RETURN(end_, DeviceBuffer::Allocate(sizeof(int64_t), "the walk's end"));
    if (shared_ && bytes_ > device().shared_bytes_per_block) {
      return InvalidArgument(
          "bytes is " + std::to_string(bytes_) + "; a block of this GPU has at most " +
          std::to_string(device().shared_bytes_per_block) + " bytes of shared memory");
    }
    if (shared_) {
      ASSAY_CUDA(cudaFuncSetAttribute(SharedChaseKernel,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(bytes_)));
    }
    ASSAY_CUDA(cudaFuncSetAttribute(GlobalChaseKernel,
                                    cudaFuncAttributePreferredSharedMemoryCarveout,
                                    cudaSharedmemCarveoutMaxL1));
    if (level_ != "none") ASSAY_RETURN_IF_ERROR(ChooseWorkingSet());
    ASSAY_ASSIGN_OR_RETURN(
        memory_, DeviceBuffer::Allocate(bytes_, "a working set of " + ApproximateBytes(bytes_)));
    return Build(bytes_);
  }

  Status Enqueue(int64_t) override {
    Ticks* const ticks = TicksOfIteration();
    const auto start = reinterpret_cast<uint64_t>(chain_.Element(position_));
    position_ = (position_ + kLoads) % chain_.cycle.elements;
    if (shared_) {
      SharedChaseKernel<<<1, kThreads, static_cast<size_t>(chain_.bytes()), stream()>>>(
          chain_, start, end_.as<int64_t>(), ticks);
    } else {
      // Working sets larger than the L2 are not read in advance: the L2 could not hold them.
      const int64_t warm = chain_.bytes() <= device().l2_bytes ? chain_.bytes() : 0;
      GlobalChaseKernel<<<1, kThreads, 0, stream()>>>(chain_, warm, start, end_.as<int64_t>(),
                                                      ticks);
    }
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  OutputRange Output(int64_t) override { return {end_.data(), sizeof(int64_t)}; }

  Result<Verdict> Check(int64_t) override {
    const int64_t elements = chain_.cycle.elements;
    ASSAY_ASSIGN_OR_RETURN(Mismatches mismatches, CheckChain(chain_, stream()));
    int64_t end = -1;
    ASSAY_CUDA(cudaMemcpyAsync(&end, end_.data(), sizeof end, cudaMemcpyDefault, stream()));
    ASSAY_CUDA(cudaStreamSynchronize(stream()));
    if (elements <= kHostWalk && chain_.bytes() <= kHostWalkBytes) {
      ASSAY_RETURN_IF_ERROR(WalkOnHost(&mismatches));
    }
    return ChainVerdict(end, chain_.cycle.At(position_) * chain_.stride, mismatches, elements);
  }

 private:
  // Builds a cycle through the first `bytes` bytes of memory_.
  Status Build(int64_t bytes) {
    chain_.base = memory_.as<char>();
    chain_.cycle.elements = bytes / chain_.stride;
    chain_.cycle.window = window_ == 0 ? chain_.cycle.elements : window_ / chain_.stride;
    chain_.cycle.seed = seed();
    position_ = 0;
    return BuildChain(chain_, stream());
  }

  // Walks the whole cycle on the host. Uses only the pointers in memory, which makes this check
  // independent of the code that generated them.
  Status WalkOnHost(Mismatches* mismatches) const {
    std::vector<char> copy(static_cast<size_t>(chain_.bytes()));
    ASSAY_CUDA(cudaMemcpy(copy.data(), chain_.base, copy.size(), cudaMemcpyDefault));
    const int64_t first = chain_.cycle.At(0) * chain_.stride;
    int64_t at = first;
    for (int64_t i = 1; i <= chain_.cycle.elements; ++i) {
      const char* next = nullptr;
      std::copy_n(copy.data() + at, kPointerBytes, reinterpret_cast<char*>(&next));
      const int64_t to = next - chain_.base;
      const bool inside = to >= 0 && to < chain_.bytes();
      // The walk must visit all other elements before it returns to the first one.
      if (!inside || (to == first) != (i == chain_.cycle.elements)) {
        mismatches->count += 1;
        mismatches->first = std::min<unsigned long long>(
            mismatches->first, static_cast<unsigned long long>(at / chain_.stride));
        return Status::Ok();
      }
      at = to;
    }
    return Status::Ok();
  }

  // Returns the latency of a load from the current working set, in cycles. Walks twice, because the
  // first walk fills the caches.
  Result<double> QuickLatency() {
    Ticks* const ticks = TicksOfIteration();
    ASSAY_RETURN_IF_ERROR(Enqueue(0));
    ASSAY_CUDA(cudaMemsetAsync(ticks, 0, sizeof(Ticks), stream()));
    ASSAY_RETURN_IF_ERROR(Enqueue(0));
    Ticks passed;
    ASSAY_CUDA(cudaMemcpyAsync(&passed, ticks, sizeof passed, cudaMemcpyDefault, stream()));
    ASSAY_CUDA(cudaStreamSynchronize(stream()));
    return static_cast<double>(passed.cycles) / static_cast<double>(kLoads);
  }

  // Chooses a working set size within the cache level to be measured. To do so, measures the
  // latency for sizes of up to 16 times the L2, finds the level's plateau (the range of sizes with
  // constant latency) and takes the middle of it. For DRAM, takes the end instead, because the
  // larger the set, the smaller the fraction of it that caches hold.
  Status ChooseWorkingSet() {
    const int64_t largest = 16 * device().l2_bytes;
    ASSAY_ASSIGN_OR_RETURN(
        memory_, DeviceBuffer::Allocate(largest, "a sweep of working sets up to 16x the L2"));
    std::vector<LatencyPoint> points;
    for (double bytes = 4096; bytes <= static_cast<double>(largest); bytes *= kSweepStep) {
      const int64_t rounded = RoundedBytes(bytes);
      ASSAY_RETURN_IF_ERROR(Build(rounded));
      ASSAY_ASSIGN_OR_RETURN(const double latency, QuickLatency());
      points.push_back({rounded, latency});
    }
    ASSAY_ASSIGN_OR_RETURN(
        const Plateau plateau,
        PlateauOf(level_, FindPlateaus(points, kPlateauTolerance, kPlateauPoints)));
    bytes_ = level_ == "dram" ? plateau.last_bytes
                              : RoundedBytes(std::sqrt(static_cast<double>(plateau.first_bytes) *
                                                       static_cast<double>(plateau.last_bytes)));
    capacity_ = plateau.last_bytes;
    memory_ = DeviceBuffer();
    return Status::Ok();
  }

  int64_t RoundedBytes(double bytes) const {
    return std::max<int64_t>(static_cast<int64_t>(bytes) / chain_.stride, 1) * chain_.stride;
  }

  static constexpr double kSweepStep = 1.2599210498948732;  // Three sizes per octave.
  static constexpr double kPlateauTolerance = 0.06;
  static constexpr int64_t kPlateauPoints = 3;

  const std::string level_;
  const bool shared_;
  int64_t bytes_;
  int64_t capacity_ = 0;  // Largest working set of level_ in bytes, if a sweep found it.
  const int64_t window_;
  PointerChain chain_;
  DeviceBuffer memory_;
  DeviceBuffer end_;
  int64_t position_ = 0;  // Start of the next walk within the cycle.
};

}  // namespace

Result<std::unique_ptr<Case>> NewPointerChaseCase(const RunContext& context) {
  if (Word(context.parameters, "space") == "registers") return NewRegisterChaseCase(context);
  return PrepareCase<PointerChaseCase>(context);
}

}  // namespace assay
