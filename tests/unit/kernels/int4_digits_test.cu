// The digits of int4_gemm's x, on the host: they make up x to the last bit that the header
// promises, and lie in the order of the nibbles that they are multiplied by. The products on a GPU
// are too inexact to tell the last digit.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/cuda/gemm/int4_digits_gemv.cuh"

namespace assay {
namespace {

// Byte `byte` of a word, signed.
int DigitAt(uint32_t word, int byte) { return static_cast<int8_t>(word >> (8 * byte) & 0xff); }

// The element of a word of W whose nibble is byte `byte` of the word's lower nibbles.
int64_t ElementOf(int byte) {
  const Int4Layout layout = {32, 128, 128};
  return layout.PlaceOf(0, 2 * byte).k;
}

// q of four elements, by what the layout says that they are multiplied by.
std::vector<int> Integers(const float (&x)[4], float inverse) {
  uint32_t bits[4];
  for (int i = 0; i < 4; ++i) bits[i] = DigitBits(x[i], inverse);
  uint32_t digits[kInt4Digits];
  GatherDigits(bits, digits);
  std::vector<int> integers(4);
  for (int byte = 0; byte < 4; ++byte) {
    integers[static_cast<size_t>(ElementOf(byte))] = DigitAt(digits[0], byte) * 65536 +
                                                     DigitAt(digits[1], byte) * 256 +
                                                     DigitAt(digits[2], byte);
  }
  return integers;
}

TEST(Int4Digits, DigitsAddUpToEveryElement) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> mantissa(-1, 1);
  for (int exponent = -100; exponent <= 119; ++exponent) {
    for (int spread : {0, 3, 9, 15, 24}) {
      float x[4];
      for (float& one : x) {
        one = std::ldexp(mantissa(random), exponent - static_cast<int>(random() % (spread + 1)));
      }
      x[random() % 4] = std::ldexp(1.9921875F, exponent - 1);
      float largest = 0;
      for (const float one : x) largest = std::max(largest, std::fabs(one));
      const Int4UnitScale scale = ScaleOfUnit(largest);
      ASSERT_EQ(scale.factor * scale.inverse, 1) << exponent;
      const std::vector<int> integers = Integers(x, scale.inverse);
      for (size_t i = 0; i < 4; ++i) {
        ASSERT_EQ(integers[i], std::nearbyint(x[i] * scale.inverse)) << exponent << " " << spread;
        ASSERT_LE(std::fabs(integers[i] * scale.factor - x[i]), std::ldexp(largest, -21));
      }
    }
  }
}

TEST(Int4Digits, LargestValuesFit) {
  for (const float sign : {1.0F, -1.0F}) {
    const float almost_two = sign * std::nextafter(2.0F, 0.0F);
    const float x[4] = {almost_two, 0, -almost_two, 1};
    const std::vector<int> integers = Integers(x, ScaleOfUnit(2 - 0x1p-23F).inverse);
    EXPECT_EQ(integers, (std::vector<int>{static_cast<int>(sign) * (1 << 21), 0,
                                          -static_cast<int>(sign) * (1 << 21), 1 << 20}));
  }
}

TEST(Int4Digits, NonFiniteUnitGivesNan) {
  for (const float largest :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan(ScaleOfUnit(largest).factor));
  }
  EXPECT_EQ(Integers({0, 0, 0, 0}, ScaleOfUnit(0).inverse), (std::vector<int>(4)));
}

}  // namespace
}  // namespace assay
