#include "kernels/cuda/frame/mismatches.h"

#include <array>
#include <cstdio>

#include "kernels/cuda/frame/cuda_check.h"

namespace assay {

Result<MismatchCounter> MismatchCounter::Create(cudaStream_t stream) {
  MismatchCounter counter;
  ASSAY_ASSIGN_OR_RETURN(counter.buffer_,
                         DeviceBuffer::Allocate(sizeof(Mismatches), "the check's counters"));
  const Mismatches none;
  ASSAY_CUDA(
      cudaMemcpyAsync(counter.buffer_.data(), &none, sizeof none, cudaMemcpyDefault, stream));
  return counter;
}

Result<Verdict> MismatchCounter::Read(const void* data, int64_t elements, int64_t element_bytes,
                                      cudaStream_t stream) const {
  Mismatches mismatches;
  ASSAY_CUDA(
      cudaMemcpyAsync(&mismatches, buffer_.data(), sizeof mismatches, cudaMemcpyDefault, stream));
  ASSAY_CUDA(cudaStreamSynchronize(stream));
  Verdict verdict;
  verdict.passed = mismatches.count == 0;
  verdict.reference = "exact pattern, every element";
  verdict.error = static_cast<double>(mismatches.count);
  verdict.norm = "mismatches";
  verdict.elements_checked = elements;
  if (verdict.passed) return verdict;
  std::array<unsigned char, 8> bytes{};
  ASSAY_CUDA(cudaMemcpy(
      bytes.data(),
      static_cast<const char*>(data) + mismatches.first * static_cast<uint64_t>(element_bytes),
      static_cast<size_t>(element_bytes), cudaMemcpyDefault));
  verdict.detail = "element " + std::to_string(mismatches.first) + " is wrong, its bytes are 0x";
  for (int64_t i = element_bytes - 1; i >= 0; --i) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02x", bytes[static_cast<size_t>(i)]);
    verdict.detail += hex;
  }
  return verdict;
}

}  // namespace assay
