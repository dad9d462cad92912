// STREAM's four loops and their exact results.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

enum class CpuStreamOp { kCopy, kScale, kAdd, kTriad };

// `word` is one of copy, scale, add, triad.
CpuStreamOp CpuStreamOpOf(const std::string& word);

// out = b, 3 b, b + c or b + 3 c, on [begin, end).
void Stream(CpuStreamOp op, double* out, const double* b, const double* c, int64_t begin,
            int64_t end);

// Element `i` of the inputs: whole numbers below 4096, so that results are exact.
double StreamInputB(uint64_t seed, int64_t i);
double StreamInputC(uint64_t seed, int64_t i);
double StreamResult(CpuStreamOp op, uint64_t seed, int64_t i);

// Elements of [begin, end) that are not StreamResult (NaN never is).
struct ElementMismatches {
  int64_t count = 0;
  int64_t first = -1;  // -1: none.
};
ElementMismatches FindMismatches(CpuStreamOp op, uint64_t seed, const double* out, int64_t begin,
                                 int64_t end);

}  // namespace assay
