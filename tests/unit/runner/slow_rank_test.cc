#include "runner/rank_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace assay {
namespace {

// Simulates 64 iterations of a collective of `seconds`. The ranks arrive within `jitter` of each
// other; rank `slow` arrives later by `delay`.
std::vector<std::vector<double>> Simulate(int ranks, double seconds, double jitter, int slow,
                                          double delay, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> arrival(0, jitter);
  std::vector<std::vector<double>> inside(static_cast<size_t>(ranks));
  for (int i = 0; i < 64; ++i) {
    std::vector<double> arrivals;
    for (int rank = 0; rank < ranks; ++rank) {
      arrivals.push_back(std::fabs(arrival(random)) + (rank == slow ? delay : 0));
    }
    const double last = *std::max_element(arrivals.begin(), arrivals.end());
    for (int rank = 0; rank < ranks; ++rank) {
      inside[static_cast<size_t>(rank)].push_back(last - arrivals[static_cast<size_t>(rank)] +
                                                  seconds);
    }
  }
  return inside;
}

TEST(SlowRankTest, NamesTheDelayedRankInEveryRun) {
  int named = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    const int slow = static_cast<int>(seed % 8);
    const auto found = FindSlowRank(Simulate(8, 30e-6, 2e-6, slow, 200e-6, seed));
    if (!found || found->rank != slow) continue;
    ++named;
    EXPECT_NEAR(found->others_wait_seconds, 200e-6, 10e-6);
  }
  EXPECT_EQ(named, 100);
}

TEST(SlowRankTest, NamesOneOfTwo) {
  const auto found = FindSlowRank(Simulate(2, 30e-6, 2e-6, 1, 200e-6, 1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 1);
}

TEST(SlowRankTest, EqualRanksHaveNoSlowOne) {
  int named = 0;
  for (unsigned seed = 0; seed < 100; ++seed) {
    named += FindSlowRank(Simulate(8, 30e-6, 2e-6, -1, 0, seed)) ? 1 : 0;
    // Each rank is late equally often by chance: this is noise, however large the delays are.
    named += FindSlowRank(Simulate(8, 30e-6, 100e-6, -1, 0, seed)) ? 1 : 0;
  }
  EXPECT_EQ(named, 0);
}

TEST(SlowRankTest, SmallDelaysAreIgnored) {
  EXPECT_FALSE(FindSlowRank(Simulate(4, 30e-6, 0.1e-6, 2, 4e-6, 1)));
  EXPECT_TRUE(FindSlowRank(Simulate(4, 30e-6, 0.1e-6, 2, 8e-6, 1)));
  // A delay of 100 us is less than 5% of 4 ms.
  EXPECT_FALSE(FindSlowRank(Simulate(4, 4e-3, 1e-6, 2, 100e-6, 1)));
  EXPECT_TRUE(FindSlowRank(Simulate(4, 4e-3, 1e-6, 2, 300e-6, 1)));
}

TEST(SlowRankTest, NanTimesNameNoRank) {
  auto inside = Simulate(3, 30e-6, 1e-6, 1, 200e-6, 1);
  for (double& seconds : inside[0]) seconds = std::numeric_limits<double>::quiet_NaN();
  for (double& seconds : inside[2]) seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(FindSlowRank(inside));
}

TEST(SlowRankTest, EachRankHasItsOwnTimes) {
  const auto times = TimesOfRanks({{3, 5, 4}, {1, 1, 1}, {2, 9, 2}});
  ASSERT_TRUE(times.ok());
  ASSERT_EQ(times->size(), 3u);
  EXPECT_EQ((*times)[0].median, 4);
  EXPECT_EQ((*times)[0].wait, 3);
  EXPECT_EQ((*times)[1].wait, 0);
  EXPECT_EQ((*times)[2].rank, 2);
  EXPECT_EQ((*times)[2].median, 2);
  EXPECT_EQ((*times)[2].n, 3);
}

TEST(SlowRankTest, RanksWithDifferentCountsAreAnError) {
  EXPECT_EQ(TimesOfRanks({{1, 2}, {1}}).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(FindSlowRank({{1, 2}, {1}}));
  EXPECT_FALSE(FindSlowRank({{1, 2}}));
  EXPECT_FALSE(FindSlowRank({{}, {}}));
}

}  // namespace
}  // namespace assay
