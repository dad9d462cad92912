// The kernels of the occupancy benchmark. Each warp follows its own part of one random cycle
// through rows of 128 bytes. Every load depends on the result of the previous one, so a warp has
// only one load in flight.
#include "common/units.h"
#include "kernels/cuda/execution/work_sizes.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/gpu_case.h"
#include "kernels/cuda/frame/host_check.h"
#include "kernels/cuda/memory/random_cycle.cuh"

namespace assay {
namespace {

constexpr int64_t kRowWords = 32;
constexpr int64_t kRowBytes = kOccupancyRowBytes;
static_assert(kRowBytes == kRowWords * 4);
constexpr int64_t kSteps = kOccupancySteps;
constexpr uint64_t kStreamHeld = 1;

// Returns the value that a lane holds in register `i` while its warp walks.
__host__ __device__ uint32_t HeldValue(uint64_t seed, int64_t i, int lane) {
  return static_cast<uint32_t>(
      RandomBits(seed, kStreamHeld, static_cast<uint64_t>(i * kRowWords + lane)));
}

// Sets each word of a row to the index of the next row.
__global__ void FillRowsKernel(RandomCycle cycle, uint32_t* rows) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x / kRowWords;
  const int64_t lane = threadIdx.x % kRowWords;
  for (int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kRowWords; i < cycle.elements;
       i += step) {
    rows[cycle.At(i) * kRowWords + lane] = static_cast<uint32_t>(cycle.At(i + 1));
  }
}

__global__ void FillHeldKernel(uint64_t seed, int held, uint32_t* out) {
  for (int i = 0; i < held; ++i) {
    out[i * kRowWords + threadIdx.x] = HeldValue(seed, i, static_cast<int>(threadIdx.x));
  }
}

// Volatile, so that the compiler moves it neither before nor after the walk.
__device__ uint32_t Load(const uint32_t* address) {
  uint32_t word;
  asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(word) : "l"(address) : "memory");
  return word;
}

// Sets out[thread] to the row at which the warp's walk ends plus the sum of the held values.
template <int held>
__global__ void WalkKernel(RandomCycle cycle, const uint32_t* rows, const uint32_t* values,
                           uint32_t* out) {
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t warp = thread / kRowWords;
  const int64_t lane = thread % kRowWords;
  if (warp * kSteps >= cycle.elements) return;
  uint32_t value[held > 0 ? held : 1] = {};
#pragma unroll
  for (int i = 0; i < held; ++i) value[i] = Load(values + i * kRowWords + lane);
  auto row = static_cast<uint32_t>(cycle.At(warp * kSteps));
#pragma unroll 4
  for (int64_t step = 0; step < kSteps; ++step) row = Load(rows + row * kRowWords + lane);
  uint32_t sum = row;
#pragma unroll
  for (int i = 0; i < held; ++i) sum += value[i];
  out[thread] = sum;
}

using Kernel = void (*)(RandomCycle, const uint32_t*, const uint32_t*, uint32_t*);

Kernel KernelThatHolds(int values) {
  switch (values) {
    case 32:
      return WalkKernel<32>;
    case 64:
      return WalkKernel<64>;
    case 96:
      return WalkKernel<96>;
    case 128:
      return WalkKernel<128>;
    case 192:
      return WalkKernel<192>;
    default:
      return WalkKernel<0>;
  }
}

int HeldOf(const ParameterMap& parameters) {
  return static_cast<int>(std::stol(Word(parameters, "held_values")));
}

class OccupancyCase : public GpuCase {
 public:
  explicit OccupancyCase(const RunContext& context)
      : GpuCase(context),
        block_(static_cast<int>(Integer(context.parameters, "block_size"))),
        held_(HeldOf(context.parameters)),
        shared_(Integer(context.parameters, "shared_bytes")),
        bytes_(Integer(context.parameters, "bytes")),
        warps_(bytes_ / kRowBytes / kSteps),
        kernel_(KernelThatHolds(held_)) {}

  Status Run(int64_t samples, int64_t batch, std::vector<double>* seconds) override {
    samples_ += samples;
    return GpuCase::Run(samples, batch, seconds);
  }

  std::vector<double> Observed(const std::string& name) const override {
    const double value = name == "registers" ? registers_ : occupancy_;
    return std::vector<double>(static_cast<size_t>(samples_), value);
  }

 protected:
  Status SetUp() override {
    ASSAY_RETURN_IF_ERROR(FindOccupancy());
    AddArray(warps_ * kRowBytes);
    AddArray(bytes_);
    ASSAY_RETURN_IF_ERROR(AllocateSets("rows of " + ApproximateBytes(bytes_)));
    ASSAY_ASSIGN_OR_RETURN(values_, DeviceBuffer::Allocate((held_ + 1) * kRowBytes, "values"));
    FillHeldKernel<<<1, kRowWords, 0, stream()>>>(seed(), held_, values_.as<uint32_t>());
    for (int64_t set = 0; set < sets(); ++set) {
      FillRowsKernel<<<2048, 256, 0, stream()>>>(CycleOf(set), Array<uint32_t>(set, 1));
    }
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  Status Enqueue(int64_t set) override {
    const auto blocks = static_cast<unsigned>((warps_ * kRowWords + block_ - 1) / block_);
    kernel_<<<blocks, static_cast<unsigned>(block_), static_cast<size_t>(shared_), stream()>>>(
        CycleOf(set), Array<uint32_t>(set, 1), values_.as<uint32_t>(), Array<uint32_t>(set, 0));
    ASSAY_CUDA(cudaGetLastError());
    return Status::Ok();
  }

  OutputRange Output(int64_t set) override { return {Array<void>(set, 0), warps_ * kRowBytes}; }

  Result<Verdict> Check(int64_t set) override {
    std::vector<uint32_t> sums(kRowWords, 0);
    for (int lane = 0; lane < kRowWords; ++lane) {
      for (int i = 0; i < held_; ++i) sums[static_cast<size_t>(lane)] += HeldValue(seed(), i, lane);
    }
    const RandomCycle cycle = CycleOf(set);
    // Lanes of a warp end at the same row.
    int64_t warp = -1;
    uint32_t end = 0;
    const auto expected = [&](int64_t thread) {
      if (thread / kRowWords != warp) {
        warp = thread / kRowWords;
        end = static_cast<uint32_t>(cycle.At((warp + 1) * kSteps));
      }
      return end + sums[static_cast<size_t>(thread % kRowWords)];
    };
    return CompareOnHost(Array<uint32_t>(set, 0), warps_ * kRowWords, expected, stream());
  }

 private:
  // Determines the kernel's registers per thread and its occupancy: how many threads can be
  // resident on a multiprocessor at once, as a percentage of the maximum. Returns INVALID_ARGUMENT
  // if the kernel cannot run in blocks of this size, and Unsupported() if this GPU has too little
  // shared memory per block.
  Status FindOccupancy() {
    cudaFuncAttributes attributes;
    ASSAY_CUDA(cudaFuncGetAttributes(&attributes, kernel_));
    registers_ = attributes.numRegs;
    if (block_ > attributes.maxThreadsPerBlock) {
      return InvalidArgument("block_size is " + std::to_string(block_) + "; with held_values " +
                             std::to_string(held_) + " a thread needs " +
                             std::to_string(attributes.numRegs) + " registers, and at most " +
                             std::to_string(attributes.maxThreadsPerBlock) + " threads fit");
    }
    ASSAY_RETURN_IF_ERROR(SetSharedMemory());
    int blocks = 0;
    int threads = 0;
    ASSAY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, block_,
                                                             static_cast<size_t>(shared_)));
    ASSAY_CUDA(
        cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device().ordinal));
    occupancy_ = 100.0 * blocks * block_ / threads;
    return Status::Ok();
  }

  // Lets the kernel's blocks use the requested amount of shared memory. If they use any, also has
  // the multiprocessor turn as much of its L1 as possible into shared memory, so that more blocks
  // fit. Must be called even if blocks use no shared memory, because earlier settings of the kernel
  // persist.
  Status SetSharedMemory() const {
    if (shared_ > device().shared_bytes_per_block) {
      return Unsupported(
          "shared_bytes is " + std::to_string(shared_) + "; a block of this GPU has at most " +
          std::to_string(device().shared_bytes_per_block) + " bytes of shared memory");
    }
    ASSAY_CUDA(cudaFuncSetAttribute(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    static_cast<int>(shared_)));
    ASSAY_CUDA(cudaFuncSetAttribute(
        kernel_, cudaFuncAttributePreferredSharedMemoryCarveout,
        shared_ > 0 ? cudaSharedmemCarveoutMaxShared : cudaSharedmemCarveoutDefault));
    return Status::Ok();
  }

  RandomCycle CycleOf(int64_t set) const {
    const int64_t rows = bytes_ / kRowBytes;
    return {rows, rows, seed() + static_cast<uint64_t>(set)};
  }

  const int block_;  // Threads.
  const int held_;
  const int64_t shared_;  // Bytes of shared memory per block.
  const int64_t bytes_;   // Bytes of the rows of a set.
  const int64_t warps_;
  const Kernel kernel_;
  DeviceBuffer values_;
  double registers_ = 0;
  double occupancy_ = 0;
  int64_t samples_ = 0;
};

}  // namespace

Result<std::unique_ptr<Case>> NewOccupancyCase(const RunContext& context) {
  return PrepareCase<OccupancyCase>(context);
}

}  // namespace assay
