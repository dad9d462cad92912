// Compares a kernel's output exactly, on the host, without using the device's inputs.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/benchmark.h"
#include "kernels/cuda/frame/cuda_check.h"

namespace assay {

// Checks that each of `count` elements at `data`, in device memory, equals `expected(i)`,
// computed on the host. Synchronizes with `stream`.
template <typename T, typename Expected>
Result<Verdict> CompareOnHost(const T* data, int64_t count, const Expected& expected,
                              cudaStream_t stream) {
  constexpr int64_t kChunk = int64_t{1} << 22;
  Verdict verdict;
  verdict.reference = "exact on host, every element";
  verdict.norm = "mismatches";
  verdict.elements_checked = count;
  std::vector<T> chunk(static_cast<size_t>(std::min(count, kChunk)));
  for (int64_t begin = 0; begin < count; begin += kChunk) {
    const int64_t end = std::min(count, begin + kChunk);
    ASSAY_CUDA(cudaMemcpyAsync(chunk.data(), data + begin,
                               static_cast<size_t>(end - begin) * sizeof(T), cudaMemcpyDefault,
                               stream));
    ASSAY_CUDA(cudaStreamSynchronize(stream));
    for (int64_t i = begin; i < end; ++i) {
      const T actual = chunk[static_cast<size_t>(i - begin)];
      const T reference = expected(i);
      if (actual == reference) continue;
      if (verdict.error == 0) {
        verdict.detail = "element " + std::to_string(i) + " is " + std::to_string(actual) +
                         ", should be " + std::to_string(reference);
      }
      verdict.error += 1;
    }
  }
  verdict.passed = verdict.error == 0;
  return verdict;
}

}  // namespace assay
