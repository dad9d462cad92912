// Deterministic noise for simulated measurements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::agent {

// A small random number generator (SplitMix64). Gives the same numbers on every platform.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next();
  double Uniform();  // In [0, 1).
  double Normal();   // Mean 0, standard deviation 1.

 private:
  uint64_t state_;
};

// Returns a hash of `text` and `seed`.
uint64_t HashOf(uint64_t seed, const std::string& text);

// The random variation between runs of one case (a benchmark with fixed parameters) on one node.
// The case determines the kind of noise and its strength:
//   independent     normal noise with a standard deviation of 0.3% to 1%
//   autocorrelated  the same, but correlated with the previous run by 0.5 or 0.8
//   spikes          independent noise, but 3% of the runs are slower, by 6% on average
//   two modes       normal noise of 0.4%, but 30% of the runs are 3% slower
class CaseNoise {
 public:
  // `case_seed` selects the kind of noise and its strength. `series_seed`, a hash of the case, the
  // node and the GPUs in use, selects the random numbers.
  CaseNoise(uint64_t case_seed, uint64_t series_seed);

  // Returns a factor, with a mean of about 1, for the simulated time of run number `run` (from 0).
  double RunFactor(uint64_t run) const;
  // Returns one factor per sample of the run, by which to multiply the time of the run.
  std::vector<double> SampleFactors(uint64_t run, int samples) const;

 private:
  enum class Kind { kIndependent, kAutocorrelated, kSpikes, kTwoModes };

  const uint64_t series_seed_;
  Kind kind_;
  double deviation_;
  double correlation_;
};

}  // namespace assay::agent
