// A sum of doubles, four ways: what vector instructions are worth on this CPU.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

enum class SumVariant { kScalar, kAuto, kAvx2, kAvx512 };

// `word` is one of scalar, auto, avx2, avx512.
SumVariant SumVariantOf(const std::string& word);

// Whether this CPU has the variant's instructions.
bool HasInstructionsFor(SumVariant variant);

// x[0] + ... + x[n - 1], in the variant's own order. HasInstructionsFor(variant) holds.
//   scalar  one chain of additions, as the language defines the loop;
//   auto    the compiler's vectors, given leave to reorder;
//   avx2, avx512  intrinsics, eight independent accumulators.
double VectorSum(SumVariant variant, const double* x, int64_t n);

}  // namespace assay
