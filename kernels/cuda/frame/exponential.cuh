// The exponential function of the special-function unit.
#pragma once

namespace assay {

inline constexpr float kLog2E = 1.44269504F;

// Returns 2^x with an error of about 2 units in the last place. Results below 2^-126 become 0.
__device__ inline float FastExp2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

}  // namespace assay
