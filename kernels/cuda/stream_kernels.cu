#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/mismatches.h"
#include "kernels/cuda/random.cuh"
#include "kernels/cuda/stream_kernels.h"

namespace assay {
namespace {

constexpr float kScalar = 3.0F;
constexpr uint64_t kStreamB = 1;
constexpr uint64_t kStreamC = 2;

// One 16-byte vector a thread and small blocks, many more than fit at once: on an
// H200 this copies at 99.9% of cudaMemcpyAsync, and more vectors a thread, larger
// blocks or streaming loads and stores at 96% to 98%.
constexpr int kThreads = 128;

__device__ float InputOf(uint64_t seed, uint64_t stream, int64_t set, int64_t i) {
  const auto index = (static_cast<uint64_t>(set) << 40) + static_cast<uint64_t>(i);
  return static_cast<float>(RandomBits(seed, stream, index) >> 52);
}

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
  // The elements beyond the last whole vector.
  const int64_t tail = vectors * 4 + threadIdx.x;
  if (blockIdx.x == 0 && tail < arrays.elements) {
    arrays.out[tail] = Apply<op>(arrays.b[tail], kTwoInputs ? arrays.c[tail] : 0.0F);
  }
}

__global__ void FillKernel(StreamArrays arrays, uint64_t seed, int64_t set) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < arrays.elements; i += step) {
    arrays.b[i] = InputOf(seed, kStreamB, set, i);
    if (arrays.c != nullptr) arrays.c[i] = InputOf(seed, kStreamC, set, i);
  }
}

template <StreamOp op>
__global__ void CheckKernel(StreamArrays arrays, uint64_t seed, int64_t set,
                            Mismatches* mismatches) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < arrays.elements; i += step) {
    const float expected =
        Apply<op>(InputOf(seed, kStreamB, set, i), InputOf(seed, kStreamC, set, i));
    // NaN is unequal to everything.
    if (!(arrays.out[i] == expected)) Report(mismatches, i);
  }
}

// Of kernels whose threads take many elements: enough to fill any GPU, fewer for the
// many small arrays of a cold rotation, whose launches add up.
unsigned BlocksFor(int64_t elements) {
  return static_cast<unsigned>(std::clamp<int64_t>((elements + 255) / 256, 1, 4096));
}

// Calls `launch` with the op as a constant.
template <typename Launch>
Status Dispatch(StreamOp op, const Launch& launch) {
  switch (op) {
    case StreamOp::kCopy:
      launch(std::integral_constant<StreamOp, StreamOp::kCopy>());
      break;
    case StreamOp::kScale:
      launch(std::integral_constant<StreamOp, StreamOp::kScale>());
      break;
    case StreamOp::kAdd:
      launch(std::integral_constant<StreamOp, StreamOp::kAdd>());
      break;
    case StreamOp::kTriad:
      launch(std::integral_constant<StreamOp, StreamOp::kTriad>());
      break;
  }
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

}  // namespace

Status FillStream(const StreamArrays& arrays, uint64_t seed, int64_t set, cudaStream_t stream) {
  FillKernel<<<BlocksFor(arrays.elements), 256, 0, stream>>>(arrays, seed, set);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

Status EnqueueStream(StreamOp op, const StreamArrays& arrays, cudaStream_t stream) {
  constexpr int64_t kBlockElements = int64_t{kThreads} * 4;
  const auto blocks =
      static_cast<unsigned>((arrays.elements + kBlockElements - 1) / kBlockElements);
  return Dispatch(op, [&](auto constant) {
    StreamKernel<decltype(constant)::value><<<blocks, kThreads, 0, stream>>>(arrays);
  });
}

Result<Verdict> CheckStream(StreamOp op, const StreamArrays& arrays, uint64_t seed, int64_t set,
                            cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const MismatchCounter counter, MismatchCounter::Create(stream));
  ASSAY_RETURN_IF_ERROR(Dispatch(op, [&](auto constant) {
    CheckKernel<decltype(constant)::value>
        <<<BlocksFor(arrays.elements), 256, 0, stream>>>(arrays, seed, set, counter.device());
  }));
  return counter.Read(arrays.out, arrays.elements, sizeof(float), stream);
}

}  // namespace assay
