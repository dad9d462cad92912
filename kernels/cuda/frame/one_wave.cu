#include <algorithm>

#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/one_wave.h"

namespace assay {
namespace {

constexpr unsigned kThreads = 256;
constexpr int64_t kWordBytes = sizeof(uint4);

// Handles the bytes before the first aligned word, the words, and the bytes after the last word.
struct Span {
  uint8_t* head;
  int64_t head_bytes;
  int64_t words;
  int64_t tail_bytes;
};

Span SpanOf(void* data, int64_t bytes) {
  const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(data) % kWordBytes);
  const int64_t head = std::min(bytes, past == 0 ? 0 : kWordBytes - past);
  return {static_cast<uint8_t*>(data), head, (bytes - head) / kWordBytes,
          (bytes - head) % kWordBytes};
}

__global__ void __launch_bounds__(kThreads, kOneWaveThreads / kThreads)
    SetBytesKernel(Span span, uint8_t value) {
  const int64_t thread = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const int64_t threads = int64_t{gridDim.x} * blockDim.x;
  const uint32_t four = value * 0x01010101U;
  uint4* const words = reinterpret_cast<uint4*>(span.head + span.head_bytes);
  for (int64_t i = thread; i < span.words; i += threads) words[i] = {four, four, four, four};
  if (thread < span.head_bytes) span.head[thread] = value;
  if (thread < span.tail_bytes) reinterpret_cast<uint8_t*>(words + span.words)[thread] = value;
}

}  // namespace

Result<unsigned> OneWaveBlocks(int64_t elements, unsigned threads) {
  int gpu = 0;
  int sms = 0;
  ASSAY_CUDA(cudaGetDevice(&gpu));
  ASSAY_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, gpu));
  const int64_t wave = int64_t{sms} * (kOneWaveThreads / threads);
  return static_cast<unsigned>(std::clamp<int64_t>((elements + threads - 1) / threads, 1, wave));
}

Status SetBytes(void* data, uint8_t value, int64_t bytes, cudaStream_t stream) {
  const Span span = SpanOf(data, bytes);
  ASSAY_ASSIGN_OR_RETURN(const unsigned blocks, OneWaveBlocks(span.words, kThreads));
  SetBytesKernel<<<blocks, kThreads, 0, stream>>>(span, value);
  ASSAY_CUDA(cudaGetLastError());
  return Status::Ok();
}

}  // namespace assay
