#include <algorithm>
#include <string>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/memory/pointer_chain.cuh"

namespace assay {
namespace {

__global__ void BuildKernel(PointerChain chain) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < chain.cycle.elements;
       i += step) {
    *reinterpret_cast<char**>(chain.Element(i)) = chain.Element(i + 1);
  }
}

// Checks that a chain is a single cycle through all its elements: each element must point to the
// next, and none may be visited twice. Marks each visited element with a bit in `seen`.
__global__ void CheckKernel(PointerChain chain, unsigned* seen, Mismatches* mismatches) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < chain.cycle.elements;
       i += step) {
    const int64_t element = chain.cycle.At(i);
    const unsigned bit = 1U << (element % 32);
    const bool again = (atomicOr(seen + element / 32, bit) & bit) != 0;
    if (again || *reinterpret_cast<char**>(chain.Element(i)) != chain.Element(i + 1)) {
      Report(mismatches, element);
    }
  }
}

unsigned BlocksFor(int64_t elements) {
  return static_cast<unsigned>(std::clamp<int64_t>((elements + 255) / 256, 1, 4096));
}

}  // namespace

Status BuildChain(const PointerChain& chain, cudaStream_t stream) {
  BuildKernel<<<BlocksFor(chain.cycle.elements), 256, 0, stream>>>(chain);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

Result<Mismatches> CheckChain(const PointerChain& chain, cudaStream_t stream) {
  const int64_t elements = chain.cycle.elements;
  ASSAY_ASSIGN_OR_RETURN(const MismatchCounter counter, MismatchCounter::Create(stream));
  const int64_t words = (elements + 31) / 32;
  ASSAY_ASSIGN_OR_RETURN(const DeviceBuffer seen,
                         DeviceBuffer::Allocate(words * 4, "a bit for every element"));
  ASSAY_CUDA(cudaMemsetAsync(seen.data(), 0, static_cast<size_t>(words) * 4, stream));
  CheckKernel<<<BlocksFor(elements), 256, 0, stream>>>(chain, seen.as<unsigned>(),
                                                       counter.device());
  ASSAY_CUDA(cudaGetLastError());
  Mismatches mismatches;
  ASSAY_CUDA(
      cudaMemcpyAsync(&mismatches, counter.device(), sizeof mismatches, cudaMemcpyDefault, stream));
  ASSAY_CUDA(cudaStreamSynchronize(stream));
  return mismatches;
}

Verdict ChainVerdict(int64_t end, int64_t expected, const Mismatches& mismatches,
                     int64_t elements) {
  Verdict verdict;
  verdict.reference = "one cycle through every element, and where its walk ends";
  verdict.norm = "mismatches";
  verdict.elements_checked = elements + 1;
  verdict.error = static_cast<double>(mismatches.count) + (end == expected ? 0 : 1);
  verdict.passed = verdict.error == 0;
  if (mismatches.count > 0) {
    verdict.detail =
        "element " + std::to_string(mismatches.first) + " does not lead to the next of the cycle";
  } else if (end != expected) {
    verdict.detail =
        "the walk ended at byte " + std::to_string(end) + ", should be " + std::to_string(expected);
  }
  return verdict;
}

}  // namespace assay
