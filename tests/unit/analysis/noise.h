// Simulated histories of runs, with the kinds of noise that benchmarks have.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

namespace assay::analysis {

// Random numbers that are equal on every platform: SplitMix64.
class NoiseRandom {
 public:
  explicit NoiseRandom(uint64_t seed) : state_(seed) { Next(); }

  // Returns a number between 0 and 1, exclusive.
  double Uniform() { return (static_cast<double>(Next() >> 11) + 0.5) * 0x1p-53; }

  bool Happens(double probability) { return Uniform() < probability; }

  double Normal() {
    const double radius = std::sqrt(-2 * std::log(Uniform()));
    return radius * std::cos(2 * std::numbers::pi * Uniform());
  }

  double Exponential(double mean) { return -mean * std::log(Uniform()); }

 private:
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  uint64_t state_;
};

enum class NoiseKind {
  kIid,      // Normal, 1%.
  kSpikes,   // Normal, 1%. 3% of runs are slower by an exponential of mean 6%.
  kBimodal,  // Normal, 0.4%. 30% of runs are 3% slower.
  kAr5,      // First-order autoregressive, coefficient 0.5, 1%.
  kAr8,      // The same with coefficient 0.8.
  kSticky,   // Normal, 0.4%. Enters a mode that is 3% slower with 5% a run and leaves it with 12%.
};

inline constexpr NoiseKind kNoiseKinds[] = {NoiseKind::kIid,     NoiseKind::kSpikes,
                                            NoiseKind::kBimodal, NoiseKind::kAr5,
                                            NoiseKind::kAr8,     NoiseKind::kSticky};

inline const char* NameOf(NoiseKind kind) {
  constexpr const char* kNames[] = {"iid", "spikes", "bimodal", "AR(.5)", "AR(.8)", "sticky"};
  return kNames[static_cast<size_t>(kind)];
}

// The noise of the runs of one case at one place.
class Noise {
 public:
  // `scale` multiplies all amplitudes.
  Noise(NoiseKind kind, uint64_t seed, double scale = 1)
      : kind_(kind), random_(seed), scale_(scale) {
    state_ = random_.Normal();
    slow_ = random_.Happens(0.05 / 0.17);
  }

  // Returns the deviation of the next run's logarithm of performance.
  double Next() { return scale_ * NextUnscaled(); }

  std::vector<double> Take(size_t runs) {
    std::vector<double> values;
    for (size_t i = 0; i < runs; ++i) values.push_back(Next());
    return values;
  }

 private:
  double NextUnscaled() {
    switch (kind_) {
      case NoiseKind::kIid:
        return 0.01 * random_.Normal();
      case NoiseKind::kSpikes: {
        const double spike = random_.Happens(0.03) ? random_.Exponential(0.06) : 0;
        return 0.01 * random_.Normal() - spike;
      }
      case NoiseKind::kBimodal:
        return 0.004 * random_.Normal() - (random_.Happens(0.3) ? 0.03 : 0);
      case NoiseKind::kAr5:
        return 0.01 * NextAutoregressive(0.5);
      case NoiseKind::kAr8:
        return 0.01 * NextAutoregressive(0.8);
      case NoiseKind::kSticky:
        slow_ = slow_ ? !random_.Happens(0.12) : random_.Happens(0.05);
        return 0.004 * random_.Normal() - (slow_ ? 0.03 : 0);
    }
    return 0;
  }

  double NextAutoregressive(double coefficient) {
    state_ = coefficient * state_ + std::sqrt(1 - coefficient * coefficient) * random_.Normal();
    return state_;
  }

  NoiseKind kind_;
  NoiseRandom random_;
  double scale_;
  double state_ = 0;
  bool slow_ = false;
};

}  // namespace assay::analysis
