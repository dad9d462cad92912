#include "analysis/outliers.h"

#include <gtest/gtest.h>

namespace assay::analysis {
namespace {

// Returns places with one run each, from the values.
std::vector<PeerRuns> Peers(const std::vector<double>& values) {
  std::vector<PeerRuns> peers;
  for (const double value : values) peers.push_back({peers.size() + 100, {value}});
  return peers;
}

const std::vector<double> kSeven{0.004, -0.002, 0.001, -0.005, 0.003, 0, 0.002};

std::vector<size_t> SlowPlaces(const PeerAnalysis& analysis) {
  std::vector<size_t> slow;
  for (const PeerPosition& position : analysis.places) {
    if (position.slow) slow.push_back(position.place);
  }
  return slow;
}

TEST(FindOutliers, OneSlowPlaceOfEight_IsNamed) {
  std::vector<double> values = kSeven;
  values.push_back(-0.07);
  const PeerAnalysis found = FindOutliers(Peers(values), {});
  EXPECT_EQ(SlowPlaces(found), std::vector<size_t>{107});
  ASSERT_EQ(found.places.size(), 8U);
  EXPECT_EQ(found.spread, 0.02);  // The prior.
  EXPECT_NEAR(found.median, 0.0005, 1e-12);
  EXPECT_EQ(found.places[0].place, 107U);
  EXPECT_EQ(found.places[0].rank, 1U);
  EXPECT_NEAR(found.places[0].change, -0.0705, 1e-12);
  EXPECT_NEAR(found.places[0].z, -0.0705 / 0.02, 1e-12);
  EXPECT_EQ(found.places[7].rank, 8U);
  EXPECT_EQ(found.places[7].place, 100U);
}

TEST(FindOutliers, SixPlacesAreEnough_FiveAreNot) {
  EXPECT_EQ(SlowPlaces(FindOutliers(Peers({0, 0.001, 0.002, -0.001, 0, -0.08}), {})),
            std::vector<size_t>{105});
  const PeerAnalysis five = FindOutliers(Peers({0, 0.001, 0.002, 0, -0.08}), {});
  EXPECT_TRUE(five.places.empty());
  EXPECT_NEAR(five.median, 0, 1e-12);
  EXPECT_TRUE(FindOutliers({}, {}).places.empty());
  EXPECT_TRUE(FindOutliers({{1, {}}}, {.least_peers = 0}).places.empty());
}

// With a standard deviation in place of the MAD, two equal outliers would hide each other.
TEST(FindOutliers, TwoSlowPlacesDoNotHideEachOther) {
  std::vector<double> values(kSeven.begin(), kSeven.begin() + 6);
  values.push_back(-0.09);
  values.push_back(-0.085);
  EXPECT_EQ(SlowPlaces(FindOutliers(Peers(values), {})), (std::vector<size_t>{106, 107}));
}

TEST(FindOutliers, NeedsTwoOfTheNewestThreeRuns) {
  std::vector<PeerRuns> peers = Peers(kSeven);
  peers.push_back({107, {0, 0, -0.08}});
  EXPECT_TRUE(SlowPlaces(FindOutliers(peers, {})).empty());
  peers.back().newest = {-0.08, 0, -0.08};
  EXPECT_EQ(SlowPlaces(FindOutliers(peers, {})), std::vector<size_t>{107});
  peers.back().newest = {-0.08, -0.08, -0.08, 0, 0};  // Older runs do not count.
  EXPECT_TRUE(SlowPlaces(FindOutliers(peers, {})).empty());
  peers.back().newest = {0, -0.08};
  EXPECT_TRUE(SlowPlaces(FindOutliers(peers, {})).empty());
}

TEST(FindOutliers, LeastDeficit_AppliesToSteadyHardware) {
  std::vector<double> values(7, 0.0);
  values.push_back(-0.025);
  const OutlierRule memory{.prior_spread = kMemorySpread};
  EXPECT_TRUE(SlowPlaces(FindOutliers(Peers(values), memory)).empty());
  values.back() = -0.031;
  EXPECT_EQ(SlowPlaces(FindOutliers(Peers(values), memory)), std::vector<size_t>{107});
}

TEST(FindOutliers, MuchFasterPlace_IsImplausible) {
  std::vector<double> values = kSeven;
  values.push_back(0.2);
  const PeerAnalysis found = FindOutliers(Peers(values), {});
  EXPECT_TRUE(found.places.back().implausible);
  EXPECT_FALSE(found.places.back().slow);
  values.back() = 0.08;
  EXPECT_FALSE(FindOutliers(Peers(values), {}).places.back().implausible);
}

TEST(FindOutliers, NoSpreadAtAll_IsHandled) {
  const OutlierRule exact{.prior_spread = 0};
  EXPECT_TRUE(SlowPlaces(FindOutliers(Peers(std::vector<double>(8, 1.0)), exact)).empty());
  std::vector<double> values(7, 1.0);
  values.push_back(0.9);
  EXPECT_EQ(SlowPlaces(FindOutliers(Peers(values), exact)), std::vector<size_t>{107});
}

TEST(LearnSpread, NeedsTwentyPlaces) {
  std::vector<double> values;
  for (int i = 0; i < 19; ++i) values.push_back(i % 2 == 0 ? 0.01 : -0.01);
  EXPECT_FALSE(LearnSpread(values).has_value());
  values.push_back(-0.01);
  EXPECT_NEAR(*LearnSpread(values), 1.4826 * 0.01, 1e-12);
  values[0] = -5;  // A slow place does not change the spread.
  EXPECT_NEAR(*LearnSpread(values), 1.4826 * 0.01, 0.015);
}

}  // namespace
}  // namespace assay::analysis
