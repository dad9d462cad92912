#include <algorithm>
#include <type_traits>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/frame/random.cuh"
#include "kernels/cuda/memory/stream_kernels.h"

namespace assay {
namespace {

constexpr float kScalar = 3.0F;
constexpr uint64_t kStreamB = 1;
constexpr uint64_t kStreamC = 2;

// The number of threads per block. Each thread moves one 16-byte vector, so a launch has many more
// blocks than fit on the GPU at once. On an H200, this reaches 99.9% of cudaMemcpyAsync, compared
// to 96% to 98% with more vectors per thread, larger blocks, or streaming loads and stores.
constexpr int kThreads = 128;
// The number of threads per block for the kernel that only writes. With 128 threads, an H200 cannot
// start blocks fast enough and reaches only 79% of the bandwidth that it reaches with 256.
constexpr int kWriteThreads = 256;
// The number of threads per block for the kernel that only reads. Each block adds up one tile of
// kReadTile elements.
constexpr int kReadThreads = 256;

__device__ float InputOf(const StreamInputs& inputs, uint64_t stream, int64_t i) {
  if (inputs.zeros) return 0.0F;
  const auto index = (static_cast<uint64_t>(inputs.set) << 40) + static_cast<uint64_t>(i);
  return static_cast<float>(RandomBits(inputs.seed, stream, index) >> 52);
}

// Returns the first value of the pattern stored by the "write" loop. It differs between sets of
// arrays.
uint32_t PatternBegin(const StreamInputs& inputs) {
  return static_cast<uint32_t>(Mix64(inputs.seed + static_cast<uint64_t>(inputs.set)));
}

// Returns element `i` of the pattern stored by the "write" loop. Elements are whole numbers below
// 2^24, which are cheap to compute and exact in fp32.
__device__ float PatternOf(uint32_t begin, int64_t i) {
  return static_cast<float>((begin + static_cast<uint32_t>(i)) & 0xffffff);
}

// Returns the byte that memset writes. It is never 0xff, because outputs are filled with 0xff
// before they are verified.
unsigned char MemsetByte(const StreamInputs& inputs) { return PatternBegin(inputs) & 0x7f; }

template <StreamOp op>
__device__ float Apply(float b, float c) {
  if (op == StreamOp::kCopy) return b;
  if (op == StreamOp::kScale) return kScalar * b;
  if (op == StreamOp::kAdd) return b + c;
  return b + kScalar * c;
}

template <StreamOp op>
__device__ float4 Apply(float4 b, float4 c) {
  return make_float4(Apply<op>(b.x, c.x), Apply<op>(b.y, c.y), Apply<op>(b.z, c.z),
                     Apply<op>(b.w, c.w));
}

template <StreamOp op>
__global__ void __launch_bounds__(kThreads) StreamKernel(StreamArrays arrays) {
  constexpr bool kTwoInputs = op == StreamOp::kAdd || op == StreamOp::kTriad;
  const auto* b = reinterpret_cast<const float4*>(arrays.b);
  const auto* c = reinterpret_cast<const float4*>(arrays.c);
  const int64_t vectors = arrays.elements / 4;
  const int64_t at = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at < vectors) {
    reinterpret_cast<float4*>(arrays.out)[at] = Apply<op>(b[at], kTwoInputs ? c[at] : float4{});
  }
  // Block 0 also processes the elements beyond the last whole vector.
  const int64_t tail = vectors * 4 + threadIdx.x;
  if (blockIdx.x == 0 && tail < arrays.elements) {
    arrays.out[tail] = Apply<op>(arrays.b[tail], kTwoInputs ? arrays.c[tail] : 0.0F);
  }
}

// Sets out[block] to the sum of the block's tile of `b`.
__global__ void __launch_bounds__(kReadThreads) ReadKernel(StreamArrays arrays) {
  constexpr int kLoads = kReadTile / kReadThreads / 4;
  constexpr int kWarps = kReadThreads / 32;
  const int64_t vectors = arrays.elements / 4;
  const int64_t first = int64_t{blockIdx.x} * (kReadTile / 4) + threadIdx.x;
  float4 loaded[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const int64_t at = first + i * kReadThreads;
    loaded[i] = at < vectors ? reinterpret_cast<const float4*>(arrays.b)[at] : float4{};
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    sum += (loaded[i].x + loaded[i].y) + (loaded[i].z + loaded[i].w);
  }
  // The elements beyond the last whole vector belong to the last tile.
  const int64_t tail = vectors * 4 + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && tail < arrays.elements) sum += arrays.b[tail];

  __shared__ float warp_sums[kWarps];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0U, sum, offset);
  if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kWarps; ++warp) sum += warp_sums[warp];
  arrays.out[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(kWriteThreads) WriteKernel(StreamArrays arrays, uint32_t begin) {
  const int64_t vectors = arrays.elements / 4;
  const int64_t at = int64_t{blockIdx.x} * kWriteThreads + threadIdx.x;
  if (at < vectors) {
    const int64_t i = at * 4;
    reinterpret_cast<float4*>(arrays.out)[at] =
        make_float4(PatternOf(begin, i), PatternOf(begin, i + 1), PatternOf(begin, i + 2),
                    PatternOf(begin, i + 3));
  }
  const int64_t tail = vectors * 4 + threadIdx.x;
  if (blockIdx.x == 0 && tail < arrays.elements) arrays.out[tail] = PatternOf(begin, tail);
}

__global__ void FillKernel(StreamArrays arrays, StreamInputs inputs) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < arrays.elements; i += step) {
    if (arrays.b != nullptr) arrays.b[i] = InputOf(inputs, kStreamB, i);
    if (arrays.c != nullptr) arrays.c[i] = InputOf(inputs, kStreamC, i);
  }
}

// Function objects that return the expected value of element i of the output. CheckKernel calls
// them on the device.
template <StreamOp op>
struct LoopResult {
  StreamInputs inputs;
  __device__ float operator()(int64_t i) const {
    return Apply<op>(InputOf(inputs, kStreamB, i), InputOf(inputs, kStreamC, i));
  }
};

struct WrittenPattern {
  uint32_t begin;
  __device__ float operator()(int64_t i) const { return PatternOf(begin, i); }
};

struct RepeatedByte {
  unsigned char byte;
  __device__ float operator()(int64_t) const { return __uint_as_float(byte * 0x01010101U); }
};

// Compares out[i] with expected(i). NaN differs from every value.
template <typename Expected>
__global__ void CheckKernel(const float* out, int64_t count, Expected expected,
                            Mismatches* mismatches) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    if (!(out[i] == expected(i))) Report(mismatches, i);
  }
}

// Checks the sum of every tile. Adds up the inputs as integers, so that the order of additions does
// not matter.
__global__ void CheckReadKernel(StreamArrays arrays, StreamInputs inputs, int64_t tiles,
                                Mismatches* mismatches) {
  __shared__ unsigned sum;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    unsigned mine = 0;
    for (int64_t i = threadIdx.x; i < kReadTile; i += blockDim.x) {
      const int64_t at = tile * kReadTile + i;
      if (at < arrays.elements) mine += static_cast<unsigned>(InputOf(inputs, kStreamB, at));
    }
    atomicAdd(&sum, mine);
    __syncthreads();
    if (threadIdx.x == 0 && !(arrays.out[tile] == static_cast<float>(sum))) {
      Report(mismatches, tile);
    }
  }
}

// Returns the number of blocks for kernels whose threads each process many elements: enough to fill
// any GPU, but fewer for small arrays, so that many launches in a row stay cheap.
unsigned BlocksFor(int64_t elements) {
  return static_cast<unsigned>(std::clamp<int64_t>((elements + 255) / 256, 1, 4096));
}

// Calls `launch` with `op` as a compile-time constant. `op` must be copy, scale, add or triad.
template <typename Launch>
void WithLoop(StreamOp op, const Launch& launch) {
  if (op == StreamOp::kCopy) launch(std::integral_constant<StreamOp, StreamOp::kCopy>());
  if (op == StreamOp::kScale) launch(std::integral_constant<StreamOp, StreamOp::kScale>());
  if (op == StreamOp::kAdd) launch(std::integral_constant<StreamOp, StreamOp::kAdd>());
  if (op == StreamOp::kTriad) launch(std::integral_constant<StreamOp, StreamOp::kTriad>());
}

}  // namespace

Status FillStream(const StreamArrays& arrays, const StreamInputs& inputs, cudaStream_t stream) {
  if (arrays.b == nullptr) return Status::Ok();
  FillKernel<<<BlocksFor(arrays.elements), 256, 0, stream>>>(arrays, inputs);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

Status EnqueueStream(StreamOp op, const StreamArrays& arrays, const StreamInputs& inputs,
                     cudaStream_t stream) {
  // Each thread processes one vector. There is at least one block, because block 0 also processes
  // the elements beyond the last whole vector.
  const auto blocks_of = [&](int64_t threads) {
    return static_cast<unsigned>((arrays.elements + threads * 4 - 1) / (threads * 4));
  };
  if (op == StreamOp::kMemset) {
    ASSAY_CUDA(cudaMemsetAsync(arrays.out, MemsetByte(inputs),
                               static_cast<size_t>(arrays.elements) * sizeof(float), stream));
    return Status::Ok();
  }
  if (op == StreamOp::kRead) {
    const auto tiles = static_cast<unsigned>(OutputElements(op, arrays.elements));
    ReadKernel<<<tiles, kReadThreads, 0, stream>>>(arrays);
  } else if (op == StreamOp::kWrite) {
    WriteKernel<<<blocks_of(kWriteThreads), kWriteThreads, 0, stream>>>(arrays,
                                                                        PatternBegin(inputs));
  } else {
    WithLoop(op, [&](auto constant) {
      StreamKernel<decltype(constant)::value><<<blocks_of(kThreads), kThreads, 0, stream>>>(arrays);
    });
  }
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

Result<Verdict> CheckStream(StreamOp op, const StreamArrays& arrays, const StreamInputs& inputs,
                            cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const MismatchCounter counter, MismatchCounter::Create(stream));
  const int64_t count = OutputElements(op, arrays.elements);
  const unsigned blocks = BlocksFor(arrays.elements);
  const auto check = [&](auto expected) {
    CheckKernel<<<blocks, 256, 0, stream>>>(arrays.out, count, expected, counter.device());
  };
  if (op == StreamOp::kRead) {
    CheckReadKernel<<<BlocksFor(count * 256), 256, 0, stream>>>(arrays, inputs, count,
                                                                counter.device());
  } else if (op == StreamOp::kWrite) {
    check(WrittenPattern{PatternBegin(inputs)});
  } else if (op == StreamOp::kMemset) {
    check(RepeatedByte{MemsetByte(inputs)});
  } else {
    WithLoop(op, [&](auto constant) { check(LoopResult<decltype(constant)::value>{inputs}); });
  }
  ASSAY_CUDA(cudaGetLastError());
  return counter.Read(arrays.out, count, sizeof(float), stream);
}

}  // namespace assay
