#include "predict/speculation.h"

namespace assay::predict {
namespace {

// The number of times that bisection halves [0, 1]. More would not change a double.
constexpr int kHalvings = 60;

// Returns the least alpha in [0, 1] at which `function`, which must be increasing, reaches `goal`.
template <typename Function>
double LeastAlphaReaching(double goal, Function function) {
  double low = 0;
  double high = 1;
  if (function(low) >= goal) return low;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (function(middle) >= goal ? high : low) = middle;
  }
  return high;
}

}  // namespace

double TokensPerPass(double alpha, int64_t k) {
  // Computes the sum term by term, because the closed form is undefined at alpha = 1.
  double tokens = 1;
  double accepted = 1;
  for (int64_t i = 0; i < k; ++i) {
    accepted *= alpha;
    tokens += accepted;
  }
  return tokens;
}

double AcceptanceRate(double alpha, int64_t k) {
  return (TokensPerPass(alpha, k) - 1) / static_cast<double>(k);
}

double AlphaOfRate(double rate, int64_t k) {
  return LeastAlphaReaching(rate, [k](double alpha) { return AcceptanceRate(alpha, k); });
}

std::optional<double> LeastAlpha(double tokens, int64_t k) {
  if (tokens > static_cast<double>(k + 1)) return std::nullopt;
  return LeastAlphaReaching(tokens, [k](double alpha) { return TokensPerPass(alpha, k); });
}

double SpeculativeSpeedUp(double alpha, int64_t k, const PassCost& cost) {
  return TokensPerPass(alpha, k) * cost.target_step / cost.Pass(k);
}

}  // namespace assay::predict
