#include <utility>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/device.h"
#include "kernels/cuda/links/link_chase.h"
#include "kernels/cuda/links/link_parameters.h"
#include "kernels/cuda/memory/pointer_chain.cuh"

namespace assay {
namespace {

constexpr int64_t kLoads = kLinkChaseLoads;
constexpr int kUnroll = 16;
static_assert(kLoads % kUnroll == 0);
constexpr int64_t kStride = kChaseStride;

// Loads a word of remote memory over the link. The load is coherent with the processor that owns
// the memory and bypasses this multiprocessor's L1 cache.
__device__ uint64_t LoadAcrossLink(uint64_t address) {
  uint64_t next;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(next) : "l"(address) : "memory");
  return next;
}

__global__ void ChaseKernel(uint64_t base, uint64_t at, int64_t* end) {
#pragma unroll 1
  for (int64_t i = 0; i < kLoads; i += kUnroll) {
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) at = LoadAcrossLink(at);
  }
  *end = static_cast<int64_t>(at - base);
}

}  // namespace

LinkChase::LinkChase(void* memory, int64_t bytes, uint64_t seed, cudaStream_t stream)
    : stream_(stream) {
  chain_.base = static_cast<char*>(memory);
  chain_.stride = kStride;
  chain_.cycle.elements = bytes / kStride;
  chain_.cycle.window = chain_.cycle.elements;
  chain_.cycle.seed = seed;
}

Result<std::unique_ptr<LinkChase>> LinkChase::Create(void* memory, int64_t bytes, uint64_t seed,
                                                     cudaStream_t stream) {
  std::unique_ptr<LinkChase> chase(new LinkChase(memory, bytes, seed, stream));
  ASSAY_ASSIGN_OR_RETURN(chase->end_, DeviceBuffer::Allocate(sizeof(int64_t), "the walk's end"));
  ASSAY_RETURN_IF_ERROR(BuildChain(chase->chain_, stream));
  ASSAY_CUDA(cudaStreamSynchronize(stream));
  return Result<std::unique_ptr<LinkChase>>(std::move(chase));
}

Status LinkChase::Enqueue() {
  ChaseKernel<<<1, 1, 0, stream_>>>(reinterpret_cast<uint64_t>(chain_.base),
                                    reinterpret_cast<uint64_t>(chain_.Element(position_)),
                                    end_.as<int64_t>());
  ASSAY_CUDA(cudaGetLastError());
  position_ = (position_ + kLoads) % chain_.cycle.elements;
  return Status::Ok();
}

Status LinkChase::Poison() {
  ASSAY_CUDA(cudaMemsetAsync(end_.data(), 0xff, sizeof(int64_t), stream_));
  return Status::Ok();
}

Result<Verdict> LinkChase::Check() {
  ASSAY_ASSIGN_OR_RETURN(const Mismatches mismatches, CheckChain(chain_, stream_));
  int64_t end = -1;
  ASSAY_CUDA(cudaMemcpyAsync(&end, end_.data(), sizeof end, cudaMemcpyDefault, stream_));
  ASSAY_CUDA(cudaStreamSynchronize(stream_));
  return ChainVerdict(end, chain_.cycle.At(position_) * kStride, mismatches, chain_.cycle.elements);
}

}  // namespace assay
