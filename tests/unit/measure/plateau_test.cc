#include "measure/plateau.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

// Returns latencies over working sets that double from 4 KiB.
std::vector<LatencyPoint> Sweep(const std::vector<double>& latencies) {
  std::vector<LatencyPoint> points;
  int64_t bytes = 4096;
  for (const double latency : latencies) {
    points.push_back({bytes, latency});
    bytes *= 2;
  }
  return points;
}

TEST(PlateauTest, FindsTheLevelsBetweenTheirTransitions) {
  const auto points = Sweep(
      {34, 34, 34.5, 34, 34.2, 35, 130, 262, 265, 266, 264, 265, 275, 460, 560, 640, 650, 652});
  const auto plateaus = FindPlateaus(points, 0.06, 3);
  ASSERT_EQ(plateaus.size(), 3U);
  EXPECT_EQ(plateaus[0].first_bytes, 4096);
  EXPECT_EQ(plateaus[0].last_bytes, 4096 << 5);
  EXPECT_EQ(plateaus[0].points, 6);
  EXPECT_DOUBLE_EQ(plateaus[0].latency, 34.1);
  EXPECT_EQ(plateaus[1].first_bytes, 4096 << 7);
  EXPECT_EQ(plateaus[1].last_bytes, 4096 << 12);
  EXPECT_EQ(plateaus[2].first_bytes, 4096 << 15);
  EXPECT_DOUBLE_EQ(plateaus[2].latency, 650);

  EXPECT_EQ(PlateauOf("l1", plateaus)->first_bytes, 4096);
  EXPECT_EQ(PlateauOf("l2", plateaus)->first_bytes, 4096 << 7);
  EXPECT_EQ(PlateauOf("dram", plateaus)->first_bytes, 4096 << 15);
}

// The cache has two halves, of which the farther one is slower.
TEST(PlateauTest, TakesTheWidestOfSeveralMiddlePlateausForL2) {
  const auto points = Sweep({34, 34, 34, 265, 265, 265, 265, 475, 475, 475, 650, 650, 650});
  const auto plateaus = FindPlateaus(points, 0.06, 3);
  ASSERT_EQ(plateaus.size(), 4U);
  EXPECT_DOUBLE_EQ(PlateauOf("l2", plateaus)->latency, 265);
}

TEST(PlateauTest, SlopeIsNotAPlateau) {
  std::vector<double> slope;
  for (double latency = 30; latency < 1000; latency *= 1.1) slope.push_back(latency);
  EXPECT_TRUE(FindPlateaus(Sweep(slope), 0.06, 3).empty());
  EXPECT_TRUE(FindPlateaus({}, 0.06, 3).empty());
}

TEST(PlateauTest, MissingPlateauErrorListsThoseFound) {
  const auto plateaus = FindPlateaus(Sweep({34, 34, 34, 265, 265, 265}), 0.06, 3);
  EXPECT_TRUE(PlateauOf("l1", plateaus).ok());
  const auto missing = PlateauOf("l2", plateaus);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_NE(missing.status().ToString().find("4096 B to 16384 B at 34"), std::string::npos);
  EXPECT_FALSE(PlateauOf("dram", FindPlateaus(Sweep({34, 34, 34}), 0.06, 3)).ok());
}

}  // namespace
}  // namespace assay
