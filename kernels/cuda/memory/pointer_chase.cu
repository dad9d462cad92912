// pointer_chase: the latency of one load, from a chain of loads each of which needs the
// one before it. Its elements are visited in one random cycle, which no prefetcher
// foresees; every line of the working set comes once before any comes again.
#include <algorithm>
#include <cmath>

#include "kernels/cuda/memory/cache_levels.h"
#include "kernels/cuda/frame/clocked_case.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/memory/pointer_chain.cuh"
#include "measure/plateau.h"

namespace assay {
namespace {

// Of an iteration: the clock's own cost and the loop's are lost among so many.
constexpr int64_t kLoads = 16384;
constexpr int kUnroll = 32;
static_assert(kLoads % kUnroll == 0);
constexpr int kThreads = 1024;
// Up to so many elements, in so many bytes, the host walks the whole cycle as well: it
// copies all of them.
constexpr int64_t kHostWalk = 65536;
constexpr int64_t kHostWalkBytes = int64_t{64} << 20;

__device__ unsigned LoadShared(unsigned address) {
  unsigned next;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(next) : "r"(address) : "memory");
  return next;
}

// kLoads loads from `at` on; one thread.
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

// First the block reads the first `warm_bytes` of the working set: what fits into the L1,
// which begins empty, is there when the walk begins, and the L2 partition next to this
// multiprocessor has the rest. `*end` is where the walk ends, in bytes from the base.
__global__ void __launch_bounds__(kThreads)
    GlobalChaseKernel(PointerChain chain, int64_t warm_bytes, uint64_t start, int64_t* end,
                      Ticks* ticks) {
  const auto base = reinterpret_cast<uint64_t>(chain.base);
  uint64_t all = 0;
  for (int64_t at = threadIdx.x * chain.stride; at < warm_bytes; at += kThreads * chain.stride) {
    all |= LoadGlobal(base + static_cast<uint64_t>(at));
  }
  // Addresses are even: only to wait for the loads.
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
      // Beyond the L2 there is nothing to warm.
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
  // A cycle through the first `bytes` of memory_.
  Status Build(int64_t bytes) {
    chain_.base = memory_.as<char>();
    chain_.cycle.elements = bytes / chain_.stride;
    chain_.cycle.window = window_ == 0 ? chain_.cycle.elements : window_ / chain_.stride;
    chain_.cycle.seed = seed();
    position_ = 0;
    return BuildChain(chain_, stream());
  }

  // Follows the addresses themselves, knowing nothing of how they were made.
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
      // Back at the first after all of them, and not before.
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

  // Latency of one working set, in cycles; the first walk warms.
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

  // Sweeps working sets up to many times the L2 and takes the middle of the level's
  // plateau; for DRAM the largest, of which the caches hold least.
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

  static constexpr double kSweepStep = 1.2599210498948732;  // Three sizes an octave.
  static constexpr double kPlateauTolerance = 0.06;
  static constexpr int64_t kPlateauPoints = 3;

  const std::string level_;
  const bool shared_;
  int64_t bytes_;
  int64_t capacity_ = 0;  // Of level_, where the sweep found it.
  const int64_t window_;
  PointerChain chain_;
  DeviceBuffer memory_;
  DeviceBuffer end_;
  int64_t position_ = 0;  // In the cycle: where the coming walk begins.
};

class PointerChase : public Benchmark {
 public:
  PointerChase() {
    info_.name = "pointer_chase";
    info_.summary = "latency of a load from L1, L2, memory or shared memory";
    info_.resource = Resource::kGpu;
    const OldMultipleOf whole_strides = {1, "stride"};
    info_.parameters = {
        {"space",
         ParameterType::kWord,
         "global: through the caches; shared: shared memory",
         "global",
         {},
         {},
         {"global", "shared"}},
        {"level",
         ParameterType::kWord,
         "none: the working set is `bytes`; else the middle of that level's plateau, which a sweep "
         "of this GPU finds (dram: the largest of the sweep), and `bytes` is not used",
         "none",
         {},
         {},
         {"none", "l1", "l2", "dram"},
         {},
         {},
         {{{{"space", {"shared"}}}, {"none"}, "shared memory is one level"}}},
        {"bytes",
         ParameterType::kBytes,
         "working set",
         "1073741824",
         kPointerBytes,
         int64_t{1} << 40,
         {},
         {},
         whole_strides,
         {PrivateLimit("space", {"shared"})}},
        {"stride",
         ParameterType::kBytes,
         "distance of the elements, which are addresses; at least a line of 128 bytes touches "
         "every line once a cycle",
         "128",
         kPointerBytes,
         int64_t{1} << 21,
         {},
         {},
         {kPointerBytes}},
        {"window",
         ParameterType::kBytes,
         "the walk stays in so many bytes until it has seen all of them, which spares the TLB; 0: "
         "the whole working set",
         "0",
         0,
         int64_t{1} << 40,
         {},
         {},
         whole_strides}};
    info_.selftest_parameters = {{"bytes", "300040"}, {"stride", "104"}, {"window", "10400"}};
    info_.metrics = {{"latency_cycles", "cycles", Direction::kLowerIsBetter,
                      "clock cycles of the multiprocessor a dependent load, read in the kernel",
                      Quantity::kObserved, 1},
                     {"latency", "ns", Direction::kLowerIsBetter,
                      "time of a dependent load, read in the kernel", Quantity::kObserved, 1},
                     {"working_set", "B", Direction::kHigherIsBetter,
                      "bytes that the walk goes through", Quantity::kObserved, 1},
                     {"level_capacity", "B", Direction::kHigherIsBetter,
                      "largest working set of the sweep that the level holds; 0 without a level",
                      Quantity::kObserved, 1},
                     TimeMetric()};
    info_.model =
        "16384 loads an iteration, from one thread, each from the address that the one before it "
        "loaded: no arithmetic is between them; the time includes warming the caches";
    info_.prediction = "none: no spec sheet gives the latency of a load";
  }

  const BenchmarkInfo& Info() const override { return info_; }
  std::string UnsupportedReason() const override { return WhyNoGpu(); }

  Result<Work> WorkOf(const ParameterMap&, int) const override {
    Work work;
    work.operations = static_cast<double>(kLoads);
    return work;
  }

  Result<std::unique_ptr<Case>> Prepare(const RunContext& context) const override {
    return PrepareGpuCase<PointerChaseCase>(context);
  }

 private:
  BenchmarkInfo info_;
};

}  // namespace

std::unique_ptr<Benchmark> NewPointerChase() { return std::make_unique<PointerChase>(); }

}  // namespace assay
