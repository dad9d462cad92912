// Speculative decoding: a draft model proposes K tokens, the target model verifies them in one
// pass. Formulas of Leviathan, Kalman and Matias, "Fast Inference from Transformers via
// Speculative Decoding" (2022). `alpha` is the probability that the target accepts a drafted token
// whose predecessors were accepted; acceptances are independent.
#pragma once

#include <cstdint>
#include <optional>

namespace assay::predict {

// Returns the expected tokens per pass of the target, (1 - alpha^(K+1)) / (1 - alpha). Includes the
// token that the target adds itself.
double TokensPerPass(double alpha, int64_t k);

// Returns accepted/drafted tokens, alpha (1 - alpha^K) / (1 - alpha) / K.
double AcceptanceRate(double alpha, int64_t k);

// Returns the alpha with this accepted/drafted, by bisection.
double AlphaOfRate(double rate, int64_t k);

// Returns the least alpha with at least this many tokens per pass, by bisection. Nullopt if even
// alpha 1, which gives K + 1 tokens, does not suffice.
std::optional<double> LeastAlpha(double tokens, int64_t k);

// Times of one pass, in seconds or in steps of the target.
struct PassCost {
  double target_step = 1;  // The target decodes one token per sequence.
  double draft_step = 0;   // So does the draft.
  double verify = 1;       // The target computes K + 1 tokens per sequence.

  double Pass(int64_t k) const { return static_cast<double>(k) * draft_step + verify; }
};

// Returns the gain over decoding without a draft: E x target step / pass.
double SpeculativeSpeedUp(double alpha, int64_t k, const PassCost& cost);

}  // namespace assay::predict
