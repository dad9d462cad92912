// The exponential as the special-function unit has it.
#pragma once

namespace assay {

inline constexpr float kLog2E = 1.44269504F;

// 2^x to about 2 units in the last place; less than 2^-126 becomes 0.
__device__ inline float FastExp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

}  // namespace assay
