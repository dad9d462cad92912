#include "kernels/net/all_reduce_pattern.h"

#include "kernels/random.h"

namespace assay {
namespace {

struct Draw {
  int64_t a, b;
};

Draw DrawAt(uint64_t seed, int64_t index) {
  const uint64_t random = RandomAt(seed, static_cast<uint64_t>(index));
  return {static_cast<int64_t>(random & 1023), static_cast<int64_t>(random >> 10 & 7)};
}

}  // namespace

float AllReduceInput(uint64_t seed, int rank, int64_t index) {
  const Draw draw = DrawAt(seed, index);
  return static_cast<float>(draw.a + rank * draw.b);
}

float AllReduceSum(uint64_t seed, int world_size, int64_t index) {
  const Draw draw = DrawAt(seed, index);
  const int64_t n = world_size;
  return static_cast<float>(n * draw.a + draw.b * (n * (n - 1) / 2));
}

Verdict VerifyAllReduce(uint64_t seed, int world_size, const float* out, int64_t elements) {
  Verdict verdict;
  verdict.reference = "exact sum, every element of every rank";
  verdict.norm = "mismatches";
  verdict.elements_checked = elements;
  for (int64_t i = 0; i < elements; ++i) {
    const float expected = AllReduceSum(seed, world_size, i);
    if (out[i] == expected) continue;
    if (verdict.error == 0) {
      verdict.detail = "element " + std::to_string(i) + " is " + std::to_string(out[i]) +
                       ", should be " + std::to_string(expected);
    }
    ++verdict.error;
  }
  verdict.passed = verdict.error == 0;
  return verdict;
}

}  // namespace assay
