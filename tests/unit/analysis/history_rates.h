// Measures by simulation how often the analyses of histories are right.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/comparison.h"
#include "analysis/outliers.h"
#include "analysis/steps.h"
#include "tests/unit/analysis/noise.h"

namespace assay::analysis {

// Histories are looked at after every run from the 20th to the 70th.
inline constexpr size_t kFirstLook = 20;
inline constexpr size_t kLastLook = 70;
// The first slow run.
inline constexpr size_t kStepAt = 30;

inline uint64_t SeedOf(NoiseKind kind, uint64_t seed) {
  return seed * 1000003 + static_cast<uint64_t>(kind) * 7919;
}

// Returns whether a history without a step is flagged at one of the looks.
inline bool IsFlagged(NoiseKind kind, uint64_t seed) {
  const std::vector<double> values = Noise(kind, SeedOf(kind, seed)).Take(kLastLook);
  for (size_t runs = kFirstLook; runs <= kLastLook; ++runs) {
    if (!FindSteps(std::span(values).first(runs), {}, seed).empty()) return true;
  }
  return false;
}

// Returns the number of slow runs after which a step is found near its place, or nullopt if it is
// not found within 16.
inline std::optional<size_t> RunsUntilFound(NoiseKind kind, double size, uint64_t seed) {
  std::vector<double> values = Noise(kind, SeedOf(kind, seed) + 1).Take(kStepAt + 16);
  for (size_t i = kStepAt; i < values.size(); ++i) values[i] += size;
  for (size_t after = 1; after <= 16; ++after) {
    for (const Step& step : FindSteps(std::span(values).first(kStepAt + after), {}, seed)) {
      const bool near = step.first + kSegmentRuns > kStepAt && step.first < kStepAt + kSegmentRuns;
      if (near && step.change() < 0) return after;
    }
  }
  return std::nullopt;
}

// Percentages of histories.
struct StepRates {
  double flagged = 0;   // Without a step.
  double within_8 = 0;  // With a step that is found within 8 slow runs.
  double within_16 = 0;
};

inline StepRates MeasureSteps(NoiseKind kind, int seeds) {
  StepRates rates;
  const double share = 100.0 / seeds;
  for (int seed = 0; seed < seeds; ++seed) {
    rates.flagged += IsFlagged(kind, seed) ? share : 0;
    const auto found = RunsUntilFound(kind, -0.03, seed);
    rates.within_8 += found && *found <= 8 ? share : 0;
    rates.within_16 += found ? share : 0;
  }
  return rates;
}

// How the suspicions of a history end.
struct Suspicions {
  size_t opened = 0;
  size_t confirmed = 0;
  size_t reruns = 0;
};

// Looks at a history after every run from `kFirstLook` to `runs`, and confirms or clears each step
// and each suspect run by reruns. The reruns are the next values of the noise. From `kStepAt` on,
// all runs change by `size`. Stops at the first confirmation.
inline Suspicions FollowHistory(NoiseKind kind, double size, size_t runs, uint64_t seed) {
  Suspicions result;
  Noise noise(kind, SeedOf(kind, seed) + 2);
  std::vector<double> values;
  std::optional<size_t> judged;
  while (values.size() < runs) {
    const double effect = values.size() >= kStepAt ? size : 0;
    values.push_back(noise.Next() + effect);
    if (values.size() < kFirstLook) continue;
    const std::span<const double> window =
        std::span(values).last(std::min(values.size(), kStepWindow));
    const std::vector<Step> steps = FindSteps(values, {}, seed);
    const size_t skipped = values.size() - window.size();
    const size_t last = steps.empty() ? skipped : steps.back().first;
    double change = 0;
    RerunEvidence evidence;
    if (!steps.empty() && steps.back().change() < 0 && (!judged || last > *judged + 2)) {
      judged = last;
      const size_t from = steps.size() > 1 ? steps[steps.size() - 2].first : skipped;
      change = steps.back().change();
      evidence.segment.assign(values.begin() + static_cast<std::ptrdiff_t>(from),
                              values.begin() + static_cast<std::ptrdiff_t>(last));
    } else {
      const auto segment = std::span(values).subspan(last);
      const auto newest = JudgeNewest(segment, 0.003);
      if (!newest || !newest->suspect) continue;
      change = newest->change;
      evidence.segment.assign(segment.begin(), segment.end() - 1);
    }
    ++result.opened;
    while (Confirm(change, evidence, nullptr) == Confirmation::kRerunPlace) {
      evidence.reruns.push_back(noise.Next() + effect);
      ++result.reruns;
    }
    if (Confirm(change, evidence, nullptr) != Confirmation::kCleared) {
      result.confirmed = 1;
      return result;
    }
  }
  return result;
}

// Returns the percentage of comparisons of A with A whose interval does not contain 1. At every
// place, B follows A back to back.
inline double FalseDifferences(NoiseKind kind, size_t places, size_t runs, int seeds) {
  double found = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    std::vector<PlaceRuns> compared(places);
    for (size_t place = 0; place < places; ++place) {
      Noise noise(kind, SeedOf(kind, seed) + (place + 1) * 7907);
      for (size_t run = 0; run < 2 * runs; ++run) {
        auto& side = run < runs ? compared[place].a : compared[place].b;
        side.push_back({noise.Next(), static_cast<double>(run)});
      }
    }
    const Comparison result = Compare(compared, {});
    found += result.low > 1 || result.high < 1 ? 100.0 / seeds : 0;
  }
  return found;
}

// Returns the percentage of fleets with a place that is named slow, other than the first, and of
// fleets whose first place is named. Places differ by `spread`, which is the prior, and runs by
// 0.3%. The first place is slower by `deficit`.
struct NamedRates {
  double first = 0;
  double others = 0;
};

inline NamedRates MeasureOutliers(size_t places, double spread, double deficit, int seeds) {
  NamedRates rates;
  for (int seed = 0; seed < seeds; ++seed) {
    NoiseRandom random(static_cast<uint64_t>(seed) * 104729 + places);
    std::vector<PeerRuns> peers;
    for (size_t place = 0; place < places; ++place) {
      const double level = spread * random.Normal() - (place == 0 ? deficit : 0);
      PeerRuns runs{place, {}};
      for (int run = 0; run < 3; ++run) runs.newest.push_back(level + 0.003 * random.Normal());
      peers.push_back(runs);
    }
    bool first = false;
    bool others = false;
    for (const PeerPosition& position : FindOutliers(peers, {.prior_spread = spread}).places) {
      if (position.slow) (position.place == 0 ? first : others) = true;
    }
    rates.first += first ? 100.0 / seeds : 0;
    rates.others += others ? 100.0 / seeds : 0;
  }
  return rates;
}

}  // namespace assay::analysis
