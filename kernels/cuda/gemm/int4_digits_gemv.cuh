// Computes y = x W for one or two rows of x, where W consists of 4-bit integers (see
// int4_gemm_data.h). With so few rows, the instruction count limits the speed. The kernel therefore
// uses the integer tensor cores, because expanding W to bytes takes fewer instructions than
// expanding it to bf16. Elements of x are rounded to multiples of a power of two (one per unit of
// 128 neighbors) and stored as three signed bytes ("digits"). Magnitudes of 2^120 or more may give
// NaN, and units in which all are below 2^-105 lose precision.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/cuda/frame/dependent_launch.cuh"
#include "kernels/cuda/frame/element.cuh"
#include "kernels/cuda/frame/tensor_core.cuh"
#include "kernels/cuda/gemm/int4_gemv.cuh"

namespace assay {

inline constexpr int kInt4DigitRows = 2;     // Maximum number of rows of x.
inline constexpr int kInt4DigitGroup = 128;  // Neighbors that share a scale: a unit.
inline constexpr int kInt4DigitWarps = 16;   // Warps per block.
inline constexpr int kInt4Digits = 3;

// Returns the distance in bytes between two arrays of x's digits in shared memory. Each row of x
// has three such arrays, one per digit. The tensor cores read neighboring arrays together, so they
// are padded to lie in different banks.
__host__ __device__ inline int Int4DigitPitch(int units) { return units * 128 + 16; }

// Returns how many bytes of shared memory a block needs for the digits of x, the scale factors of
// x's units of 128 elements, and the sums of the block's warps.
inline int64_t Int4DigitsSharedBytes(int64_t m, int64_t k) {
  const auto units = static_cast<int>((k + 127) / 128);
  return m * (kInt4Digits * Int4DigitPitch(units) + units * 16 +
              kInt4DigitWarps * kInt4GemvColumns * 4);
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

// The bits of the fp32 number 1.5 * 2^23. Adding an integer of up to 22 bits to this number adds
// the same integer to its bits, so a single addition converts an integer to fp32 or back.
inline constexpr uint32_t kIntegerBits = 0x4b400000;
inline constexpr float kIntegerBias = 12582912;

template <typename To, typename From>
__host__ __device__ To BitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

// Returns four bytes selected from a (bytes 0 to 3) and b (bytes 4 to 7), like __byte_perm. The
// lowest hexadecimal digit of `selector` selects the lowest byte of the result, and so on.
__host__ __device__ inline uint32_t SelectBytes(uint32_t a, uint32_t b, uint32_t selector) {
#ifdef __CUDA_ARCH__
  return __byte_perm(a, b, selector);
#else
  const uint64_t both = uint64_t{b} << 32 | a;
  uint32_t selected = 0;
  for (int i = 0; i < 4; ++i) {
    selected |= static_cast<uint32_t>(both >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  }
  return selected;
#endif
}

// A unit's factor, 2^(e - 21), and its inverse.
struct Int4UnitScale {
  float factor;
  float inverse;
};

// Returns the scale of a unit whose largest magnitude is `largest` (NaN if any element is NaN).
__host__ __device__ inline Int4UnitScale ScaleOfUnit(float largest) {
  constexpr uint32_t kLeast = 21;  // Below it the factor would be subnormal.
  const uint32_t found = BitsAs<uint32_t>(largest) >> 23;
  const uint32_t exponent = found < kLeast ? kLeast : found;  // Biased by 127: e + 126.
  const uint32_t factor = found == 255 ? 0x7fc00000 : (exponent - 20) << 23;
  return {BitsAs<float>(factor), BitsAs<float>((274 - exponent) << 23)};
}

// Returns the digits of an element: the lower 24 bits are those of q + 2^22 + 128 * 2^8 + 128.
__host__ __device__ inline uint32_t DigitBits(float x, float inverse) {
  return BitsAs<uint32_t>(fmaf(x, inverse, kIntegerBias + 0x8080));
}

// Packs the bytes ("digits") of four elements of x into three words, one each for the highest,
// middle and lowest digits. `bits` holds the DigitBits() of the elements. Within a word, the
// elements are in the order 0, 2, 1, 3, like the 4-bit integers of W.
__host__ __device__ inline void GatherDigits(const uint32_t (&bits)[4],
                                             uint32_t (&digits)[kInt4Digits]) {
  const uint32_t even = SelectBytes(bits[0], bits[2], 0x5140);
  const uint32_t odd = SelectBytes(bits[1], bits[3], 0x5140);
  const uint32_t even_high = SelectBytes(bits[0], bits[2], 0x0062);
  const uint32_t odd_high = SelectBytes(bits[1], bits[3], 0x0062);
  digits[0] = (SelectBytes(even_high, odd_high, 0x5410) + 0x40404040U) ^ 0x80808080U;
  digits[1] = SelectBytes(even, odd, 0x7632) ^ 0x80808080U;
  digits[2] = SelectBytes(even, odd, 0x5410) ^ 0x80808080U;
}

// Splits each element of x into three signed bytes ("digits") for the integer tensor cores and
// stores them in shared memory, with zeros beyond k. Each unit of 128 elements is processed by 16
// threads, which also write {factor, sum, factor, 0} to `factors`: `factor` is the scale of the
// unit's digits, and `sum` is the sum of its elements, scaled like the highest digits.
template <typename T>
__device__ void StageDigits(const Int4GemvArguments<T>& arguments, char* shared, float4* factors) {
  using Pair = typename Int4Magic<T>::Pair;
  constexpr unsigned kWarp = 0xffffffff;
  const int pitch = Int4DigitPitch(arguments.units);
  const int vectors = arguments.k / 8;
  const int staged = arguments.units * 16;
  for (int row = 0; row < arguments.m; ++row) {
    const auto* const from = reinterpret_cast<const uint4*>(arguments.x) + row * vectors;
    // Loop with whole warps, because the shuffles need all lanes.
    for (int i = threadIdx.x; i < (staged + 31) / 32 * 32; i += static_cast<int>(blockDim.x)) {
      const uint4 vector = i < vectors ? from[i] : make_uint4(0, 0, 0, 0);
      Pair pairs[4];
      memcpy(pairs, &vector, sizeof pairs);
      Pair most = __hmax2_nan(__hmax2_nan(__habs2(pairs[0]), __habs2(pairs[1])),
                              __hmax2_nan(__habs2(pairs[2]), __habs2(pairs[3])));
      most = __hmax2_nan(most, __lowhigh2highlow(most));
#pragma unroll
      for (int step = 1; step < 16; step *= 2) {
        most = __hmax2_nan(most, __shfl_xor_sync(kWarp, most, step));
      }
      const Int4UnitScale scale = ScaleOfUnit(static_cast<float>(most.x));
      float sum = 0;
      uint32_t bits[2][4];
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        const auto x = static_cast<float>(j % 2 == 0 ? pairs[j / 2].x : pairs[j / 2].y);
        sum += x;
        bits[j / 4][j % 4] = DigitBits(x, scale.inverse);
      }
#pragma unroll
      for (int step = 1; step < 16; step *= 2) sum += __shfl_xor_sync(kWarp, sum, step);
      if (i >= staged) continue;
      uint32_t digits[2][kInt4Digits];
      GatherDigits(bits[0], digits[0]);
      GatherDigits(bits[1], digits[1]);
      char* const to =
          shared + row * kInt4Digits * pitch + i / 16 * 128 + i % 4 * 32 + i / 4 % 4 * 8;
#pragma unroll
      for (int digit = 0; digit < kInt4Digits; ++digit) {
        *reinterpret_cast<uint2*>(to + digit * pitch) =
            make_uint2(digits[0][digit], digits[1][digit]);
      }
      if (i % 16 == 0) {
        factors[i / 16 * arguments.m + row] =
            make_float4(scale.factor, sum * scale.inverse * 0x1p-16F, scale.factor, 0);
      }
    }
  }
}

// Multiplies a unit of W (128 elements along k) by x and adds the products to `sum`. Elements of x
// consist of bytes ("digits"). The tensor cores treat each digit as a separate column. This lane
// supplies the digits of one column and receives the results of two. `factor` holds the scale of
// the results, and the sum of x that is used to subtract W's zero point. This sum is 0 except for
// the highest digit, so that the zero point is subtracted only once.
template <typename T>
__device__ void MultiplyDigits(const Int4Unit<1>& unit, const uint4 (&digits)[2], float2 factor,
                               float (&sum)[2][4]) {
  constexpr uint32_t kNibbles = 0x0f0f0f0f;
#pragma unroll
  for (int tile = 0; tile < 2; ++tile) {
    uint32_t products[4] = {kIntegerBits, kIntegerBits, kIntegerBits, kIntegerBits};
#pragma unroll
    for (int chunk = 0; chunk < 2; ++chunk) {
      const uint4 words = unit.values[tile * 2 + chunk];
      const uint32_t first[4] = {words.x & kNibbles, words.x >> 4 & kNibbles, words.y & kNibbles,
                                 words.y >> 4 & kNibbles};
      const uint32_t second[4] = {words.z & kNibbles, words.z >> 4 & kNibbles, words.w & kNibbles,
                                  words.w >> 4 & kNibbles};
      MultiplyBytes(products, first, digits[chunk].x, digits[chunk].y);
      MultiplyBytes(products, second, digits[chunk].z, digits[chunk].w);
    }
    Int4Scale<T> stored[2];
    memcpy(stored, &unit.scales[tile], sizeof stored);
#pragma unroll
    for (int column = 0; column < 2; ++column) {
      const float scale = static_cast<float>(stored[column].scale) * factor.x;
      const float even = __uint_as_float(products[column * 2]) - kIntegerBias;
      const float odd = __uint_as_float(products[column * 2 + 1]) - kIntegerBias;
      sum[tile][column * 2] += scale * (even - static_cast<float>(stored[column].zero) * factor.y);
      sum[tile][column * 2 + 1] += scale * odd;
    }
  }
}

#endif

// Computes y = x W with one block per 32 * `pairs` columns of W. A block's warps are divided evenly
// among its strips of 32 columns. The warps of a strip split k among themselves in units of 128,
// and each lane loads up to three units ahead.
template <typename T, int pairs>
__global__ void __launch_bounds__(32 * kInt4DigitWarps, 1)
    Int4DigitsGemvKernel(Int4GemvArguments<T> arguments) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  constexpr int kDepth = 3;
  constexpr int kWarps = kInt4DigitWarps / pairs;
  extern __shared__ __align__(128) char shared[];
  const int lane = threadIdx.x % 32;
  const int warp = threadIdx.x / 32 % kWarps;
  const int pair = threadIdx.x / 32 / kWarps;
  const int m = arguments.m;
  const int pitch = Int4DigitPitch(arguments.units);
  auto* const factors = reinterpret_cast<float4*>(shared + m * kInt4Digits * pitch);
  auto* const sums = reinterpret_cast<float*>(factors + arguments.units * m);
  const int64_t strip = int64_t{blockIdx.x} * pairs + pair;
  // Warps beyond the last column get no units.
  const int units = strip * kInt4GemvColumns < arguments.n ? arguments.units : 0;
  const int64_t first = strip * arguments.units + warp;
  const uint4* values = arguments.values + first * 128 + lane;
  const uint2* scales = arguments.scales + first * 16 + lane / 4;
  int ahead = warp;  // The unit that is loaded next.
  const auto advance = [&] {
    values += kWarps * 128;
    scales += kWarps * 16;
    ahead += kWarps;
  };
  AllowNext();
  Int4Unit<1> unit[kDepth];
#pragma unroll
  for (int i = 0; i < kDepth; ++i) {
    if (ahead < units) LoadUnit<1>(values, scales, &unit[i]);
    advance();
  }
  PrefetchX(arguments);
  WaitForPrevious();
  StageDigits<T>(arguments, shared, factors);
  __syncthreads();
  // The tensor cores multiply W by 8 columns: the digits (bytes) 0 to 2 of row 0 of x and an unused
  // column, then the same for row 1. Lane l supplies column l / 4, and receives the results of
  // columns l % 4 * 2 and l % 4 * 2 + 1.
  const int row_given = lane / 16;
  const int digit = lane / 4 % 4;
  const bool gives = row_given < m && digit < kInt4Digits;
  const char* x = shared + (row_given * kInt4Digits + digit) * pitch + warp * 128 + lane % 4 * 32;
  const int row = lane % 4 / 2;
  const bool leads = lane % 2 == 0;  // Digits 0 and 1; else digit 2.
  const float2* factor =
      reinterpret_cast<const float2*>(factors) + warp * m * 2 + (row < m ? row * 2 : 0) + lane % 2;
  uint4 digits[2] = {};
  float sum[2][4] = {};
  for (int at = warp; at < units; at += kDepth * kWarps) {
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      if (at + i * kWarps >= units) break;
      if (gives) {
        digits[0] = *reinterpret_cast<const uint4*>(x);
        digits[1] = *reinterpret_cast<const uint4*>(x + 16);
      }
      MultiplyDigits<T>(unit[i], digits, *factor, sum);
      x += kWarps * 128;
      factor += kWarps * m * 2;
      if (ahead < units) LoadUnit<1>(values, scales, &unit[i]);
      advance();
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float even = sum[i / 2][i % 2 * 2];
    const float odd = sum[i / 2][i % 2 * 2 + 1];
    float total = leads ? 0x1p16F * even + 0x1p8F * odd : even;
    total += __shfl_xor_sync(0xffffffff, total, 1);
    if (leads && row < m) {
      const int column = i / 2 * kGemvTile + i % 2 * 8 + lane / 4;
      sums[((pair * kWarps + warp) * m + row) * kInt4GemvColumns + column] = total;
    }
  }
  __syncthreads();
  const int outputs = m * kInt4GemvColumns;  // Outputs of a pair of tiles.
  for (int output = threadIdx.x; output < pairs * outputs; output += 32 * kInt4DigitWarps) {
    const int at = output % outputs;
    const int64_t column =
        (int64_t{blockIdx.x} * pairs + output / outputs) * kInt4GemvColumns + at % kInt4GemvColumns;
    if (column >= arguments.n) continue;
    float total = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) total += sums[(output / outputs * kWarps + i) * outputs + at];
    arguments.y[int64_t{at / kInt4GemvColumns} * arguments.n + column] = Narrow<T>(total);
  }
#endif
}

}  // namespace assay
