#include "kernels/cpu/loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernels/random.h"

namespace assay {
namespace {

constexpr double kScalar = 3.0;

double WholeNumber(uint64_t seed, int64_t i) {
  return static_cast<double>(RandomAt(seed, static_cast<uint64_t>(i)) & 0xfff);
}

// The number of independent sums that a loop computes. An addition takes about four cycles, and a
// core can start two per cycle, so eight independent additions keep the vector units busy. Loops
// over the sums are unrolled to keep all sums in registers.
constexpr int64_t kChains = 8;

// Ends a pass over the array by making the compiler assume that memory has changed, so that the
// next pass loads the array again.
inline void EndPass() { asm volatile("" ::: "memory"); }

double ScalarSum(const double* x, int64_t n, int64_t passes) {
  double sum = 0;
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    EndPass();
  }
  return sum;
}

double AutoSum(const double* x, int64_t n, int64_t passes) {
  double sum = 0;
  for (int64_t pass = 0; pass < passes; ++pass) {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; ++i) sum += x[i];
    EndPass();
  }
  return sum;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) double Avx2Sum(const double* x, int64_t n, int64_t passes) {
  constexpr int64_t kLanes = 4;
  const int64_t whole = n - n % (kChains * kLanes);
  __m256d chains[kChains] = {};
  double sum = 0;
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t i = 0; i < whole; i += kChains * kLanes) {
#pragma GCC unroll 8
      for (int64_t chain = 0; chain < kChains; ++chain) {
        chains[chain] = _mm256_add_pd(chains[chain], _mm256_loadu_pd(x + i + chain * kLanes));
      }
    }
    for (int64_t i = whole; i < n; ++i) sum += x[i];
    EndPass();
  }
#pragma GCC unroll 8
  for (int64_t chain = 1; chain < kChains; ++chain) {
    chains[0] = _mm256_add_pd(chains[0], chains[chain]);
  }
  double lanes[kLanes];
  _mm256_storeu_pd(lanes, chains[0]);
  return sum + ScalarSum(lanes, kLanes, 1);
}

__attribute__((target("avx512f"))) double Avx512Sum(const double* x, int64_t n, int64_t passes) {
  constexpr int64_t kLanes = 8;
  const int64_t whole = n - n % (kChains * kLanes);
  __m512d chains[kChains] = {};
  double sum = 0;
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t i = 0; i < whole; i += kChains * kLanes) {
#pragma GCC unroll 8
      for (int64_t chain = 0; chain < kChains; ++chain) {
        chains[chain] = _mm512_add_pd(chains[chain], _mm512_loadu_pd(x + i + chain * kLanes));
      }
    }
    for (int64_t i = whole; i < n; ++i) sum += x[i];
    EndPass();
  }
#pragma GCC unroll 8
  for (int64_t chain = 1; chain < kChains; ++chain) {
    chains[0] = _mm512_add_pd(chains[0], chains[chain]);
  }
  double lanes[kLanes];
  _mm512_storeu_pd(lanes, chains[0]);
  return sum + ScalarSum(lanes, kLanes, 1);
}
#endif

}  // namespace

CpuStreamOp CpuStreamOpOf(const std::string& word) {
  if (word == "copy") return CpuStreamOp::kCopy;
  if (word == "scale") return CpuStreamOp::kScale;
  return word == "add" ? CpuStreamOp::kAdd : CpuStreamOp::kTriad;
}

void Stream(CpuStreamOp op, double* __restrict out, const double* __restrict b,
            const double* __restrict c, int64_t begin, int64_t end) {
  switch (op) {
    case CpuStreamOp::kCopy:
      for (int64_t i = begin; i < end; ++i) out[i] = b[i];
      return;
    case CpuStreamOp::kScale:
      for (int64_t i = begin; i < end; ++i) out[i] = kScalar * b[i];
      return;
    case CpuStreamOp::kAdd:
      for (int64_t i = begin; i < end; ++i) out[i] = b[i] + c[i];
      return;
    case CpuStreamOp::kTriad:
      for (int64_t i = begin; i < end; ++i) out[i] = b[i] + kScalar * c[i];
      return;
  }
}

double StreamInputB(uint64_t seed, int64_t i) { return WholeNumber(seed, i); }

double StreamInputC(uint64_t seed, int64_t i) { return WholeNumber(seed + 1, i); }

double StreamResult(CpuStreamOp op, uint64_t seed, int64_t i) {
  const double b = StreamInputB(seed, i);
  switch (op) {
    case CpuStreamOp::kCopy:
      return b;
    case CpuStreamOp::kScale:
      return kScalar * b;
    case CpuStreamOp::kAdd:
      return b + StreamInputC(seed, i);
    case CpuStreamOp::kTriad:
      break;
  }
  return b + kScalar * StreamInputC(seed, i);
}

ElementMismatches FindMismatches(CpuStreamOp op, uint64_t seed, const double* out, int64_t begin,
                                 int64_t end) {
  ElementMismatches found;
  for (int64_t i = begin; i < end; ++i) {
    if (out[i] == StreamResult(op, seed, i)) continue;
    if (found.count++ == 0) found.first = i;
  }
  return found;
}

SumVariant SumVariantOf(const std::string& word) {
  if (word == "scalar") return SumVariant::kScalar;
  if (word == "avx2") return SumVariant::kAvx2;
  return word == "avx512" ? SumVariant::kAvx512 : SumVariant::kAuto;
}

bool HasInstructionsFor(SumVariant variant) {
  if (variant == SumVariant::kScalar || variant == SumVariant::kAuto) return true;
#if defined(__x86_64__)
  return variant == SumVariant::kAvx2 ? __builtin_cpu_supports("avx2") != 0
                                      : __builtin_cpu_supports("avx512f") != 0;
#else
  return false;
#endif
}

double VectorSum(SumVariant variant, const double* x, int64_t n, int64_t passes) {
  switch (variant) {
    case SumVariant::kScalar:
      return ScalarSum(x, n, passes);
    case SumVariant::kAuto:
      break;
#if defined(__x86_64__)
    case SumVariant::kAvx2:
      return Avx2Sum(x, n, passes);
    case SumVariant::kAvx512:
      return Avx512Sum(x, n, passes);
#else
    case SumVariant::kAvx2:
    case SumVariant::kAvx512:
      break;
#endif
  }
  return AutoSum(x, n, passes);
}

}  // namespace assay
