#include "analysis/distributions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace assay::analysis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <size_t N>
double Polynomial(const std::array<double, N>& coefficients, double x) {
  double sum = 0;
  for (const double coefficient : coefficients) sum = sum * x + coefficient;
  return sum;
}

// Returns the quantile of `p` <= 0.5 with a relative error of 1.2e-9 (Acklam 2003).
double RoughNormalQuantile(double p) {
  constexpr std::array a{-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                         1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array b{-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                         6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
  constexpr std::array c{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                         -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array d{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                         3.754408661907416e+00, 1.0};
  if (p < 0.02425) {
    const double q = std::sqrt(-2 * std::log(p));
    return Polynomial(c, q) / Polynomial(d, q);
  }
  const double q = p - 0.5;
  return q * Polynomial(a, q * q) / Polynomial(b, q * q);
}

// Returns the logarithm of the gamma function of `x` > 0, using Stirling's series. The series needs
// a large x, so values below 10 are first increased using gamma(x + 1) = x gamma(x). Unlike
// std::lgamma, this function does not write to a global variable.
double LogGamma(double x) {
  double factor = 1;
  for (; x < 10; ++x) factor *= x;
  const double r = 1 / (x * x);
  const double series =
      (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r / 1188)))) / x;
  return (x - 0.5) * std::log(x) - x + 0.5 * std::log(2 * std::numbers::pi) + series -
         std::log(factor);
}

// Evaluates the continued fraction of the incomplete beta function using Lentz's method (Press et
// al., Numerical Recipes, 6.4). Converges quickly for x < (a + 1) / (a + b + 2).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto away = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return fraction;
}

// Returns the probability that Student's t exceeds `t` >= 0. This is half of the regularized
// incomplete beta function at freedom / (freedom + t^2).
double StudentTail(double t, double freedom) {
  const double a = freedom / 2;
  constexpr double b = 0.5;
  const double x = freedom / (freedom + t * t);
  // 1 - x, without cancellation.
  const double y = t * t / (freedom + t * t);
  if (y <= 0) return 0.5;
  if (x <= 0) return 0;
  const double factor =
      std::exp(LogGamma(a + b) - LogGamma(a) - LogGamma(b) + a * std::log(x) + b * std::log(y));
  if (x < (a + 1) / (a + b + 2)) return 0.5 * factor * BetaFraction(a, b, x) / a;
  return 0.5 * (1 - factor * BetaFraction(b, a, y) / b);
}

double StudentDensity(double t, double freedom) {
  return std::exp(LogGamma((freedom + 1) / 2) - LogGamma(freedom / 2) -
                  0.5 * std::log(freedom * std::numbers::pi) -
                  (freedom + 1) / 2 * std::log1p(t * t / freedom));
}

// Returns the positive value that Student's t exceeds with probability `tail` < 0.5. Uses Newton's
// method on a logarithmic scale, where the tail is nearly a straight line. If a step leaves the
// interval known to contain the result, bisects that interval instead.
double StudentUpper(double tail, double freedom) {
  double low = 0;
  double high = kInfinity;
  double t = std::max(-NormalQuantile(tail), 1e-8);
  for (int i = 0; i < 200; ++i) {
    const double at = StudentTail(t, freedom);
    (at > tail ? low : high) = t;
    double next = t * 2;
    if (at > 0) {
      const double slope = StudentDensity(t, freedom) * t / at;
      next = t * std::exp(std::log(at / tail) / std::max(slope, 1e-300));
    }
    if (!(next > low && next < high)) next = std::isinf(high) ? 2 * t : (low + high) / 2;
    if (std::abs(next - t) <= 1e-13 * t) return next;
    t = next;
  }
  return t;
}

}  // namespace

double NormalCdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double NormalQuantile(double p) {
  if (p <= 0) return -kInfinity;
  if (p >= 1) return kInfinity;
  if (p > 0.5) return -NormalQuantile(1 - p);
  const double z = RoughNormalQuantile(p);
  // One step of Halley's method.
  const double error = (NormalCdf(z) - p) * std::sqrt(2 * std::numbers::pi) * std::exp(z * z / 2);
  return z - error / (1 + z * error / 2);
}

double StudentCdf(double t, double freedom) {
  return t > 0 ? 1 - StudentTail(t, freedom) : StudentTail(-t, freedom);
}

double StudentQuantile(double p, double freedom) {
  if (p <= 0) return -kInfinity;
  if (p >= 1) return kInfinity;
  if (p == 0.5) return 0;
  return p < 0.5 ? -StudentUpper(p, freedom) : StudentUpper(1 - p, freedom);
}

}  // namespace assay::analysis
