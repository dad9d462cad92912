// The size of one iteration of cpu_vector_sum, needed by both the declaration and the code of this
// benchmark.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/benchmark.h"
#include "kernels/cpu/thread_team.h"

namespace assay {

struct VectorSumSize {
  int64_t elements = 0;  // All threads together.
  // The number of times that an iteration reads every element, chosen so that each thread with
  // elements reads at least 256 MiB. This makes the time to wake up the threads negligible.
  int64_t passes = 0;
};

inline VectorSumSize VectorSumSizeOf(const ParameterMap& parameters) {
  constexpr int64_t kBytesPerThread = int64_t{256} << 20;
  const int64_t threads = ThreadCount(Integer(parameters, "threads"));
  VectorSumSize size;
  size.elements = Integer(parameters, "elements");
  if (Word(parameters, "per_thread") == "true") size.elements *= threads;
  const int64_t busy = std::min(threads, size.elements);  // Threads that have elements.
  const int64_t wanted = busy * kBytesPerThread / static_cast<int64_t>(sizeof(double));
  size.passes = (wanted + size.elements - 1) / size.elements;
  return size;
}

}  // namespace assay
