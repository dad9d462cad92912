// A model of speculative decoding, in which a draft model proposes K tokens and the target model
// verifies them in one pass. `alpha` is the probability that the target accepts a token, given that
// it accepted all tokens before it. Acceptances are assumed to be independent. The formulas are
// from Leviathan, Kalman and Matias, "Fast Inference from Transformers via Speculative Decoding"
// (2022).
#pragma once

#include <cstdint>
#include <optional>

namespace assay::predict {

// Returns (1 - alpha^(K+1)) / (1 - alpha), the expected number of tokens per pass of the target
// model. This includes the token added by the target itself.
double TokensPerPass(double alpha, int64_t k);

// Returns the ratio of accepted to drafted tokens, alpha (1 - alpha^K) / (1 - alpha) / K.
double AcceptanceRate(double alpha, int64_t k);

// Returns the alpha that gives this ratio of accepted to drafted tokens, by bisection.
double AlphaOfRate(double rate, int64_t k);

// Returns the smallest alpha that yields at least this many tokens per pass, or nullopt if even
// alpha = 1, which yields K + 1 tokens, is not enough.
std::optional<double> LeastAlpha(double tokens, int64_t k);

// The times of one pass, in seconds or as multiples of a target step.
struct PassCost {
  double target_step = 1;  // The target decodes one token per sequence.
  double draft_step = 0;   // So does the draft.
  double verify = 1;       // The target computes K + 1 tokens per sequence.

  double Pass(int64_t k) const { return static_cast<double>(k) * draft_step + verify; }
};

// Returns the speed-up over decoding without a draft model: TokensPerPass() x target step / pass.
double SpeculativeSpeedUp(double alpha, int64_t k, const PassCost& cost);

}  // namespace assay::predict
