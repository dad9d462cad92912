#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/cuda/frame/byte_pattern.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/mismatches.h"
#include "kernels/cuda/frame/random.cuh"

namespace assay {
namespace {

// Number of words that the host checks, evenly spread and including the last.
constexpr int64_t kHostWords = 32;

__global__ void FillKernel(uint64_t* data, int64_t words, BytePattern pattern) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words; i += step) {
    data[i] = RandomBits(pattern.seed, pattern.stream, static_cast<uint64_t>(i));
  }
}

// The kernel compares byte by byte, because a transfer may end within a word.
__global__ void CheckKernel(const unsigned char* data, int64_t bytes, BytePattern pattern,
                            Mismatches* mismatches) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < bytes; i += step) {
    const uint64_t word = RandomBits(pattern.seed, pattern.stream, static_cast<uint64_t>(i / 8));
    if (data[i] != static_cast<unsigned char>(word >> (i % 8 * 8))) Report(mismatches, i);
  }
}

// The host computes the pattern independently, which detects an error that fill and check share.
Status CheckOnHost(const BytePattern& pattern, const void* data, int64_t bytes, Verdict* verdict) {
  const int64_t words = (bytes + 7) / 8;
  const int64_t count = std::min(words, kHostWords);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t word = i + 1 == count ? words - 1 : words / count * i;
    const auto length = static_cast<size_t>(std::min<int64_t>(8, bytes - word * 8));
    uint64_t found = 0;
    ASSAY_CUDA(cudaMemcpy(&found, static_cast<const char*>(data) + word * 8, length,
                          cudaMemcpyDeviceToHost));
    const uint64_t expected = pattern.Word(word);
    if (std::memcmp(&expected, &found, length) == 0) continue;
    verdict->passed = false;
    verdict->error += 1;
    if (verdict->detail.empty()) {
      verdict->detail =
          "among the 8 bytes from byte " + std::to_string(word * 8) + " one is wrong, by the host";
    }
  }
  return Status::Ok();
}

}  // namespace

uint64_t BytePattern::Word(int64_t index) const {
  return RandomBits(seed, stream, static_cast<uint64_t>(index));
}

Status FillBytes(const BytePattern& pattern, void* data, int64_t bytes, cudaStream_t stream) {
  FillKernel<<<1024, 256, 0, stream>>>(static_cast<uint64_t*>(data), (bytes + 7) / 8, pattern);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

Result<Verdict> CheckBytes(const BytePattern& pattern, const void* data, int64_t bytes,
                           cudaStream_t stream) {
  ASSAY_ASSIGN_OR_RETURN(const MismatchCounter counter, MismatchCounter::Create(stream));
  CheckKernel<<<1024, 256, 0, stream>>>(static_cast<const unsigned char*>(data), bytes, pattern,
                                        counter.device());
  ASSAY_CUDA(cudaGetLastError());
  ASSAY_ASSIGN_OR_RETURN(Verdict verdict, counter.Read(data, bytes, 1, stream));
  verdict.reference = "exact pattern, every byte";
  ASSAY_RETURN_IF_ERROR(CheckOnHost(pattern, data, bytes, &verdict));
  return verdict;
}

}  // namespace assay
