// Measures by simulation how often the analyses of histories are right, and holds them to their
// bars. Prints the tables in docs/measured/verdict-rates.md.
#include "tests/unit/analysis/history_rates.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace assay::analysis {
namespace {

constexpr int kSeeds = 1000;

struct StepBar {
  NoiseKind kind;
  double flagged;
  double within_8;
  double within_16;
};

TEST(HistoryRates, StepsAreFoundAndNoiseIsNotFlagged) {
  const StepBar bars[] = {
      {NoiseKind::kIid, 1, 80, 98},     {NoiseKind::kSpikes, 1, 60, 85},
      {NoiseKind::kBimodal, 3, 40, 80}, {NoiseKind::kAr5, 4, 30, 80},
      {NoiseKind::kAr8, 10, 0, 0},      {NoiseKind::kSticky, 100, 0, 0},
  };
  std::printf("| noise | flagged without a step | -3%% found within 8 runs | within 16 runs |\n");
  std::printf("|---|---:|---:|---:|\n");
  for (const StepBar& bar : bars) {
    const StepRates rates = MeasureSteps(bar.kind, kSeeds);
    std::printf("| %s | %.1f%% | %.1f%% | %.1f%% |\n", NameOf(bar.kind), rates.flagged,
                rates.within_8, rates.within_16);
    EXPECT_LE(rates.flagged, bar.flagged) << NameOf(bar.kind);
    EXPECT_GE(rates.within_8, bar.within_8) << NameOf(bar.kind);
    EXPECT_GE(rates.within_16, bar.within_16) << NameOf(bar.kind);
  }
}

struct Followed {
  double opened = 0;     // Percentage of histories.
  double confirmed = 0;  // Percentage of histories.
  double reruns = 0;     // Per history.
};

Followed Follow(NoiseKind kind, double size, size_t runs, int seeds) {
  Followed total;
  for (int seed = 0; seed < seeds; ++seed) {
    const Suspicions found = FollowHistory(kind, size, runs, seed);
    total.opened += found.opened > 0 ? 100.0 / seeds : 0;
    total.confirmed += 100.0 * static_cast<double>(found.confirmed) / seeds;
    total.reruns += static_cast<double>(found.reruns) / seeds;
  }
  return total;
}

TEST(HistoryRates, RerunsConfirmStepsAndClearNoise) {
  std::printf(
      "| noise | suspected without a step | confirmed | extra runs | -3%% confirmed | -6%% "
      "confirmed | reruns per -6%% |\n|---|---:|---:|---:|---:|---:|---:|\n");
  for (const NoiseKind kind : kNoiseKinds) {
    const Followed none = Follow(kind, 0, kLastLook, kSeeds);
    const Followed small = Follow(kind, -0.03, kStepAt + 16, kSeeds);
    const Followed large = Follow(kind, -0.06, kStepAt + 16, kSeeds);
    std::printf("| %s | %.1f%% | %.2f%% | %.2f%% | %.1f%% | %.1f%% | %.1f |\n", NameOf(kind),
                none.opened, none.confirmed, 100 * none.reruns / kLastLook, small.confirmed,
                large.confirmed, large.reruns);
    if (kind == NoiseKind::kSticky) continue;  // Its slow phases are real.
    EXPECT_LE(none.confirmed, kind == NoiseKind::kAr8 ? 1.0 : 0.3) << NameOf(kind);
    if (kind != NoiseKind::kAr5 && kind != NoiseKind::kAr8) {
      EXPECT_GE(large.confirmed, 90) << NameOf(kind);
    }
  }
}

TEST(HistoryRates, EqualSidesDoNotDiffer) {
  std::printf("| noise | 3 GPUs x 1 run | 3 x 3 | 8 x 1 | 8 x 3 | 16 x 10 |\n");
  std::printf("|---|---:|---:|---:|---:|---:|\n");
  for (const NoiseKind kind : kNoiseKinds) {
    std::printf("| %s |", NameOf(kind));
    for (const auto& [places, runs] :
         {std::pair<size_t, size_t>{3, 1}, {3, 3}, {8, 1}, {8, 3}, {16, 10}}) {
      const double found = FalseDifferences(kind, places, runs, 10 * kSeeds);
      std::printf(" %.2f%% |", found);
      EXPECT_LE(found, 1.5) << NameOf(kind) << ", " << places << " places, " << runs << " runs";
    }
    std::printf("\n");
  }
}

TEST(HistoryRates, HealthyFleetsHaveNoSlowPlace) {
  std::printf("| healthy GPUs | 8 | 64 | 256 |\n|---|---:|---:|---:|\n");
  for (const double spread : {0.005, 0.01, 0.02}) {
    std::printf("| spread %.1f%% |", 100 * spread);
    for (const size_t places : {8, 64, 256}) {
      const NamedRates rates = MeasureOutliers(places, spread, 0, 4 * kSeeds);
      std::printf(" %.2f%% |", rates.first + rates.others);
      EXPECT_LE(rates.first + rates.others, 1.5) << places << " places, spread " << spread;
    }
    std::printf("\n");
  }
}

TEST(HistoryRates, SlowPlaceAmongEightIsNamed) {
  std::printf("| one of 8 at -6%% | named | another named |\n|---|---:|---:|\n");
  const std::pair<double, double> bars[] = {{0.005, 95}, {0.01, 85}, {0.015, 50}, {0.02, 25}};
  for (const auto& [spread, bar] : bars) {
    const NamedRates rates = MeasureOutliers(8, spread, 0.06, 4 * kSeeds);
    std::printf("| spread %.1f%% | %.1f%% | %.2f%% |\n", 100 * spread, rates.first, rates.others);
    EXPECT_GE(rates.first, bar) << spread;
  }
}

// Returns the number of regressions in the looks at a history. Looks find the same regression if
// their steps are within five runs.
size_t CountRegressions(const std::vector<double>& values, uint64_t seed) {
  std::vector<size_t> known;
  for (size_t runs = kFirstLook; runs <= values.size(); ++runs) {
    for (const Step& step : FindSteps(std::span(values).first(runs), {}, seed)) {
      const bool same = std::any_of(known.begin(), known.end(), [&](size_t first) {
        return std::max(first, step.first) - std::min(first, step.first) <= kSegmentRuns;
      });
      if (step.change() < 0 && !same) known.push_back(step.first);
    }
  }
  return known.size();
}

TEST(HistoryRates, OneStepIsOneRegression) {
  int exactly_one = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    std::vector<double> values = Noise(NoiseKind::kIid, SeedOf(NoiseKind::kIid, seed) + 3).Take(70);
    for (size_t i = kStepAt; i < values.size(); ++i) values[i] -= 0.05;
    exactly_one += CountRegressions(values, seed) == 1 ? 1 : 0;
  }
  const double percent = 100.0 * exactly_one / kSeeds;
  std::printf("| one step of -5%%, iid, 51 looks | exactly 1 regression in %.1f%% |\n", percent);
  EXPECT_GE(percent, 99);
}

}  // namespace
}  // namespace assay::analysis
