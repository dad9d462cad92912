#include "agent/simulate/noise.h"

#include <algorithm>
#include <cmath>

namespace assay::agent {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
// The number of earlier runs that influence the simulated noise of a run. Older runs can be
// ignored: the highest correlation of consecutive runs is 0.8, and 0.8 to the power of 64 is only
// 6e-7.
constexpr uint64_t kMemory = 64;

}  // namespace

uint64_t Random::Next() {
  state_ += kGolden;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

double Random::Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double Random::Normal() {
  const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
  return radius * std::cos(2 * kPi * Uniform());
}

// FNV-1a, mixed.
uint64_t HashOf(uint64_t seed, const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325 ^ seed;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  return Random(hash).Next();
}

CaseNoise::CaseNoise(uint64_t case_seed, uint64_t series_seed) : series_seed_(series_seed) {
  Random random(case_seed);
  kind_ = static_cast<Kind>(random.Next() % 4);
  deviation_ = kind_ == Kind::kTwoModes ? 0.004 : 0.003 + 0.007 * random.Uniform();
  correlation_ = random.Uniform() < 0.5 ? 0.5 : 0.8;
}

double CaseNoise::RunFactor(uint64_t run) const {
  const auto normal = [&](uint64_t one) { return Random(series_seed_ ^ (one * kGolden)).Normal(); };
  Random extra(~series_seed_ ^ (run * kGolden));
  double factor = 1 + deviation_ * normal(run);
  if (kind_ == Kind::kAutocorrelated) {
    const uint64_t first = run - std::min(run, kMemory);
    double level = normal(first);
    for (uint64_t one = first + 1; one <= run; ++one) {
      level = correlation_ * level + std::sqrt(1 - correlation_ * correlation_) * normal(one);
    }
    factor = 1 + deviation_ * level;
  } else if (kind_ == Kind::kSpikes && extra.Uniform() < 0.03) {
    factor *= 1 - 0.06 * std::log(1 - extra.Uniform());
  } else if (kind_ == Kind::kTwoModes && extra.Uniform() < 0.3) {
    factor *= 1.03;
  }
  return std::max(factor, 0.9);
}

std::vector<double> CaseNoise::SampleFactors(uint64_t run, int samples) const {
  Random random(HashOf(series_seed_, std::to_string(run)));
  std::vector<double> factors;
  factors.reserve(static_cast<size_t>(samples));
  for (int i = 0; i < samples; ++i) factors.push_back(1 + 0.002 * std::fabs(random.Normal()));
  return factors;
}

}  // namespace assay::agent
