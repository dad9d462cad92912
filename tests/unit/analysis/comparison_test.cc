#include "analysis/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/analysis/noise.h"

namespace assay::analysis {
namespace {

std::vector<TimedValue> Runs(const std::vector<double>& values, double start = 0,
                             double interval = 1) {
  std::vector<TimedValue> runs;
  for (const double value : values) {
    runs.push_back({value, start + interval * static_cast<double>(runs.size())});
  }
  return runs;
}

// Runs of A and B that alternate: A at even times, B at odd times.
PlaceRuns Alternating(const std::vector<double>& a, const std::vector<double>& b) {
  return {Runs(a, 0, 2), Runs(b, 1, 2)};
}

// One run per side on each of several places, with the given differences.
std::vector<PlaceRuns> Places(const std::vector<double>& differences) {
  std::vector<PlaceRuns> places;
  for (const double difference : differences) {
    const double level = 0.1 * static_cast<double>(places.size());
    places.push_back({Runs({level}), Runs({level + difference})});
  }
  return places;
}

TEST(Compare, ThreePlaces_UseTheIntervalOfPairedDifferences) {
  const Comparison found = Compare(Places({-0.05, -0.051, -0.049}), {});
  EXPECT_EQ(found.verdict, ComparisonVerdict::kRegressed);
  EXPECT_NEAR(found.ratio, std::exp(-0.05), 1e-12);
  // Half of the width: t(0.995, 2) = 9.92484 standard errors of 0.001 / sqrt(3).
  EXPECT_NEAR(std::log(found.high), -0.05 + 9.92484 * 0.001 / std::sqrt(3), 1e-7);
  EXPECT_NEAR(std::log(found.low), -0.05 - 9.92484 * 0.001 / std::sqrt(3), 1e-7);
  EXPECT_EQ(found.common_places, 3U);
  EXPECT_FALSE(found.these_places_only);
  EXPECT_EQ(found.missing, Missing::kNothing);
  EXPECT_LT(found.p_value, 0.001);
}

TEST(Compare, VerdictTable) {
  EXPECT_EQ(Compare(Places({0.001, 0, -0.001}), {}).verdict, ComparisonVerdict::kEquivalent);
  EXPECT_EQ(Compare(Places({0.05, 0.051, 0.049}), {}).verdict, ComparisonVerdict::kImproved);
  EXPECT_EQ(Compare(Places({-0.05, 0.05, 0.01}), {}).verdict, ComparisonVerdict::kInconclusive);
  // Significant, but smaller than the margin.
  EXPECT_EQ(Compare(Places({-0.010, -0.0101, -0.0099}), {}).verdict,
            ComparisonVerdict::kEquivalent);
  // The difference is larger than the margin, and the interval contains values below the margin.
  const Comparison near = Compare(Places({-0.024, -0.026, -0.025}), {});
  EXPECT_EQ(near.verdict, ComparisonVerdict::kRegressed);
  EXPECT_GT(near.high, 0.98);
}

TEST(Compare, Verdicts_ExcludeEachOther) {
  NoiseRandom random(7);
  for (int i = 0; i < 3000; ++i) {
    const double effect = 0.04 * (random.Uniform() - 0.5) * 2;
    std::vector<double> differences;
    for (int place = 0; place < 6; ++place) {
      differences.push_back(effect + 0.01 * random.Normal() * random.Uniform());
    }
    const Comparison found = Compare(Places(differences), {});
    const bool equivalent = found.low > 0.98 && found.high < 1.02;
    const bool regressed = found.high < 1 && found.ratio <= 0.98;
    const bool improved = found.low > 1 && found.ratio >= 1.02;
    ASSERT_LE(equivalent + regressed + improved, 1);
    ASSERT_EQ(found.verdict == ComparisonVerdict::kEquivalent, equivalent);
    ASSERT_EQ(found.verdict == ComparisonVerdict::kRegressed, regressed);
    ASSERT_EQ(found.verdict == ComparisonVerdict::kImproved, improved);
    ASSERT_EQ(found.verdict == ComparisonVerdict::kInconclusive,
              found.missing != Missing::kNothing);
  }
}

TEST(Compare, PlacesWithOneSideOnly_AreIgnoredIfOthersHaveBoth) {
  std::vector<PlaceRuns> places = Places({-0.05, -0.05, -0.05});
  places.push_back({Runs({5}), {}});
  places.push_back({{}, Runs({9, 9})});
  const Comparison found = Compare(places, {});
  EXPECT_NEAR(found.ratio, std::exp(-0.05), 1e-12);
  EXPECT_EQ(found.places_a, 4U);
  EXPECT_EQ(found.places_b, 4U);
  EXPECT_EQ(found.common_places, 3U);
  EXPECT_EQ(found.runs_a, 3U);
  EXPECT_EQ(found.runs_b, 3U);
}

TEST(Compare, NothingInCommon_ComparesTheMediansOfPlaces) {
  std::vector<PlaceRuns> places;
  for (const double value : {0.0, 0.001, -0.001}) places.push_back({Runs({value, value, 3}), {}});
  for (const double value : {0.1, 0.101, 0.099}) places.push_back({{}, Runs({value})});
  const Comparison found = Compare(places, {});
  EXPECT_EQ(found.common_places, 0U);
  EXPECT_EQ(found.verdict, ComparisonVerdict::kImproved);
  EXPECT_NEAR(found.ratio, std::exp(0.1), 1e-12);
  // Welch with four degrees of freedom: t(0.995, 4) = 4.60409.
  EXPECT_NEAR(std::log(found.high), 0.1 + 4.60409 * std::sqrt(2e-6 / 3), 1e-7);
}

TEST(Compare, OneSideEmpty_IsInconclusive) {
  const Comparison found = Compare({{Runs({1, 2}), {}}}, {});
  EXPECT_EQ(found.verdict, ComparisonVerdict::kInconclusive);
  EXPECT_FALSE(found.has_interval);
  EXPECT_EQ(found.missing, Missing::kRuns);
  EXPECT_EQ(found.places_b, 0U);
  EXPECT_EQ(Compare({}, {}).verdict, ComparisonVerdict::kInconclusive);
  EXPECT_EQ(Compare({{{}, {}}}, {}).p_value, 1);
}

TEST(Compare, OnePlaceWithOneRunPerSide_NeedsMoreRuns) {
  const Comparison found = Compare({{Runs({0}), Runs({-0.1}, 1)}}, {});
  EXPECT_NEAR(found.ratio, std::exp(-0.1), 1e-12);
  EXPECT_FALSE(found.has_interval);
  EXPECT_EQ(found.missing, Missing::kRuns);
  EXPECT_EQ(found.missing_count, 1U);
  EXPECT_TRUE(found.these_places_only);
}

TEST(Compare, OnePlaceWithAlternatingRuns_HasAVerdictForThisPlace) {
  const Comparison found =
      Compare({Alternating({0, 0.001, -0.001, 0.0005}, {-0.1, -0.101, -0.099, -0.1005})}, {});
  EXPECT_EQ(found.verdict, ComparisonVerdict::kRegressed);
  EXPECT_TRUE(found.these_places_only);
  EXPECT_EQ(found.runs_a, 4U);
}

TEST(Compare, OnePlaceWithRunsInBlocks_NeedsAlternation) {
  const PlaceRuns back_to_back{Runs({0, 0.001, -0.001}), Runs({-0.1, -0.101, -0.099}, 10)};
  const Comparison found = Compare({back_to_back}, {});
  EXPECT_EQ(found.verdict, ComparisonVerdict::kInconclusive);
  EXPECT_EQ(found.missing, Missing::kAlternation);
  EXPECT_FALSE(found.has_interval);
  // A single run of A after the block of B does not help.
  PlaceRuns returned = back_to_back;
  returned.a.push_back({0, 20});
  EXPECT_EQ(Compare({returned}, {}).missing, Missing::kAlternation);
  // Each of two places must alternate.
  EXPECT_EQ(Compare({Alternating({0, 0}, {0, 0}), back_to_back}, {}).missing,
            Missing::kAlternation);
}

TEST(Compare, OrderAbba_CountsAsAlternating) {
  const PlaceRuns abba{{{0, 0}, {0.001, 3}}, {{-0.1, 1}, {-0.101, 2}}};
  EXPECT_TRUE(Compare({abba}, {}).has_interval);
}

TEST(Compare, DifferentPlacesNeedNotAlternate) {
  const Comparison found =
      Compare({{Runs({0, 0.001, -0.001}), {}}, {{}, Runs({-0.1, -0.101, -0.099}, 50)}}, {});
  EXPECT_EQ(found.verdict, ComparisonVerdict::kRegressed);
  EXPECT_TRUE(found.these_places_only);
  EXPECT_EQ(found.common_places, 0U);
}

TEST(Compare, EqualValues_AreEquivalent) {
  const Comparison found = Compare(Places({0, 0, 0}), {});
  EXPECT_EQ(found.verdict, ComparisonVerdict::kEquivalent);
  EXPECT_EQ(found.low, 1);
  EXPECT_EQ(found.high, 1);
  EXPECT_EQ(found.p_value, 1);
}

// Differences between places of 4% are not reduced by more runs.
TEST(Compare, Inconclusive_AdvisesWhatReducesTheInterval) {
  std::vector<PlaceRuns> places;
  for (const double effect : {-0.05, 0.03, -0.02, 0.01}) {
    places.push_back(Alternating({0, 0.0001, -0.0001}, {effect, effect + 0.0001, effect}));
  }
  const Comparison different = Compare(places, {});
  EXPECT_EQ(different.missing, Missing::kPlaces);
  EXPECT_GT(different.missing_count, 10U);

  NoiseRandom random(3);
  std::vector<PlaceRuns> noisy(4);
  for (PlaceRuns& place : noisy) {
    for (int run = 0; run < 3; ++run) {
      place.a.push_back({0.02 * random.Normal(), 2.0 * run});
      place.b.push_back({0.02 * random.Normal(), 2.0 * run + 1});
    }
  }
  const Comparison found = Compare(noisy, {});
  EXPECT_EQ(found.missing, Missing::kRuns);
  EXPECT_GT(found.missing_count, 3U);
}

// The threshold of the second of four p values is 2 / 4 * 0.01.
TEST(AdjustForCount, BenjaminiAndHochberg_KeepsSmallPValues) {
  std::vector<Comparison> cases(4);
  const double p_values[] = {0.004, 0.0049, 0.0078, 0.5};
  for (size_t i = 0; i < cases.size(); ++i) {
    cases[i].has_interval = true;
    cases[i].p_value = p_values[i];
    cases[i].verdict = i < 3 ? ComparisonVerdict::kRegressed : ComparisonVerdict::kEquivalent;
  }
  cases[2].p_value = 0.0078;
  cases.push_back({});  // Without an interval, a case does not count.
  AdjustForCount(cases, {});
  EXPECT_EQ(cases[0].verdict, ComparisonVerdict::kRegressed);  // 0.004 > 0.0025, but see the next.
  EXPECT_EQ(cases[1].verdict, ComparisonVerdict::kRegressed);
  EXPECT_EQ(cases[2].verdict, ComparisonVerdict::kInconclusive);
  EXPECT_EQ(cases[2].missing, Missing::kRuns);
  EXPECT_EQ(cases[3].verdict, ComparisonVerdict::kEquivalent);
  EXPECT_EQ(cases[4].verdict, ComparisonVerdict::kInconclusive);
}

}  // namespace
}  // namespace assay::analysis
