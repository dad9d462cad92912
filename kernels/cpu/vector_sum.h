// A sum of doubles, computed in four ways, which shows the gain by vector instructions.
#pragma once

#include <cstdint>
#include <string>

namespace assay {

enum class SumVariant { kScalar, kAuto, kAvx2, kAvx512 };

// `word` must be scalar, auto, avx2 or avx512.
SumVariant SumVariantOf(const std::string& word);

// Returns true if this CPU has the variant's instructions.
bool HasInstructionsFor(SumVariant variant);

// Returns x[0] + ... + x[n - 1], added in the variant's own order. HasInstructionsFor(variant) must
// be true.
//   scalar  one chain of additions, as the language defines the loop;
//   auto    the compiler's vectors, with additions reordered;
//   avx2, avx512  intrinsics, eight independent accumulators.
double VectorSum(SumVariant variant, const double* x, int64_t n);

}  // namespace assay
