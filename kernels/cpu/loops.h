// The loops over fp64 arrays timed by CPU benchmarks: the four STREAM loops, whose results are
// exact, and an array sum in four variants, which show the speedup from vector instructions.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

enum class CpuStreamOp { kCopy, kScale, kAdd, kTriad };

// `word` must be copy, scale, add or triad.
CpuStreamOp CpuStreamOpOf(const std::string& word);

// Sets the elements [begin, end) of `out` to b (copy), 3 b (scale), b + c (add) or b + 3 c (triad).
void Stream(CpuStreamOp op, double* out, const double* b, const double* c, int64_t begin,
            int64_t end);

// Return element `i` of the inputs b and c, and of the expected output. The inputs are whole
// numbers below 4096, so all results are exact.
double StreamInputB(uint64_t seed, int64_t i);
double StreamInputC(uint64_t seed, int64_t i);
double StreamResult(CpuStreamOp op, uint64_t seed, int64_t i);

// The number of elements in a range that differ from StreamResult(), and the index of the first.
// NaN always differs.
struct ElementMismatches {
  int64_t count = 0;
  int64_t first = -1;  // -1: none.
};
ElementMismatches FindMismatches(CpuStreamOp op, uint64_t seed, const double* out, int64_t begin,
                                 int64_t end);

enum class SumVariant { kScalar, kAuto, kAvx2, kAvx512 };

// `word` must be scalar, auto, avx2 or avx512.
SumVariant SumVariantOf(const std::string& word);

// Returns true if this CPU has the variant's instructions.
bool HasInstructionsFor(SumVariant variant);

// Returns `passes` times x[0] + ... + x[n - 1], reading and adding up the array in every pass. The
// order of the additions depends on the variant. The CPU must have the variant's instructions; see
// HasInstructionsFor(). The variants are:
//   scalar        one addition after the other, as the loop is written;
//   auto          vectorized by the compiler, which may reorder additions;
//   avx2, avx512  intrinsics with eight independent accumulators.
double VectorSum(SumVariant variant, const double* x, int64_t n, int64_t passes);

}  // namespace assay
