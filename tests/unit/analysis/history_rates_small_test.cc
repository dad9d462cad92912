// A small version of history_rates_test.cc: few seeds, and limits that only a gross error exceeds.
#include <gtest/gtest.h>

#include "tests/unit/analysis/history_rates.h"

namespace assay::analysis {
namespace {

TEST(HistoryRatesSmall, StepsAreFoundAndNoiseIsNotFlagged) {
  for (const NoiseKind kind : {NoiseKind::kIid, NoiseKind::kSpikes, NoiseKind::kBimodal}) {
    const StepRates rates = MeasureSteps(kind, 20);
    EXPECT_LE(rates.flagged, 10) << NameOf(kind);
    EXPECT_GE(rates.within_16, 65) << NameOf(kind);
  }
}

TEST(HistoryRatesSmall, RerunsConfirmStepsAndClearNoise) {
  size_t confirmed = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(FollowHistory(NoiseKind::kSpikes, 0, kLastLook, seed).confirmed, 0U) << seed;
    confirmed += FollowHistory(NoiseKind::kIid, -0.06, kStepAt + 16, seed).confirmed;
  }
  EXPECT_GE(confirmed, 9U);
}

TEST(HistoryRatesSmall, EqualSidesDoNotDiffer) {
  for (const NoiseKind kind : kNoiseKinds) {
    EXPECT_LE(FalseDifferences(kind, 3, 3, 300), 4) << NameOf(kind);
  }
}

// Correlated runs in the order A B B A differ less than independent ones.
TEST(HistoryRatesSmall, EqualSidesOfOnePlaceDoNotDifferIfTheyAlternate) {
  int found = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Noise noise(NoiseKind::kAr5, SeedOf(NoiseKind::kAr5, seed));
    PlaceRuns place;
    for (int run = 0; run < 16; ++run) {
      auto& side = run % 4 == 1 || run % 4 == 2 ? place.b : place.a;
      side.push_back({noise.Next(), static_cast<double>(run)});
    }
    const Comparison result = Compare({place}, {});
    ASSERT_TRUE(result.has_interval);
    found += result.low > 1 || result.high < 1 ? 1 : 0;
  }
  EXPECT_LE(found, 9);
}

TEST(HistoryRatesSmall, SlowPlacesAreNamedAndHealthyPlacesAreNot) {
  const NamedRates healthy = MeasureOutliers(64, 0.02, 0, 200);
  EXPECT_LE(healthy.first + healthy.others, 4);
  EXPECT_GE(MeasureOutliers(8, 0.01, 0.06, 200).first, 80);
}

}  // namespace
}  // namespace assay::analysis
