// Adapts the measuring rule to iterations that bring a GPU to its power limit.
#pragma once

#include "kernels/benchmark.h"

namespace assay {

// Returns true if iterations of `flops` keep a GPU so busy that it reaches its power limit.
constexpr bool IsSustainedLoad(double flops) { return flops >= 2e10; }

// Lengthens the warm-up and the measurement if iterations of `flops` FLOPs drive the GPU to its
// power limit. Clocks then take seconds to settle, and rise again during every pause between groups
// of samples.
inline void AdjustRuleForLoad(double flops, MeasureRule* rule) {
  if (!IsSustainedLoad(flops)) return;
  rule->min_warmup_seconds = 2.0;
  rule->max_warmup_seconds = 5.0;
  rule->settle_window_seconds = 0.25;
  rule->min_seconds = 1.0;
  rule->total_seconds = rule->max_warmup_seconds + rule->max_seconds;
}

}  // namespace assay
