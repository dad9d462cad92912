#include "cli/pair_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tests/unit/cli/pair_fleet.h"

namespace assay::cli {
namespace {

constexpr PairRule kRule;

class BadNodeOf : public testing::TestWithParam<std::tuple<size_t, size_t, double>> {};

TEST_P(BadNodeOf, IsNamed) {
  const auto [nodes, bad, noise] = GetParam();
  int links = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    PairFleet fleet(nodes, seed, noise);
    fleet.SetNode(bad, 5.7);
    const PairAnalysis found = AnalyzePairs(nodes, fleet.Measure(), kRule);
    ASSERT_TRUE(found.judged);
    ASSERT_EQ(found.nodes.size(), 1U) << seed;
    EXPECT_EQ(found.nodes[0].node, bad);
    EXPECT_NEAR(found.nodes[0].deficit, 0.43, 0.1);
    EXPECT_EQ(found.nodes[0].bad_links, nodes - 1);
    EXPECT_EQ(found.nodes[0].links, nodes - 1);
    links += found.links.empty() ? 0 : 1;
  }
  // The six pairs of four nodes leave next to nothing to estimate the noise from.
  EXPECT_LE(links, nodes == 4 ? 2 : 0);
}

INSTANTIATE_TEST_SUITE_P(Any, BadNodeOf,
                         testing::Combine(testing::Values(4, 5, 8), testing::Values(0, 2, 3),
                                          testing::Values(0, 0.02)));

TEST(PairModel, NamesABadLink) {
  for (const size_t nodes : {5U, 8U}) {
    for (uint64_t seed = 0; seed < 100; ++seed) {
      PairFleet fleet(nodes, seed);
      fleet.link_from = 0;
      fleet.link_to = 3;
      fleet.link = 6.9;
      const PairAnalysis found = AnalyzePairs(nodes, fleet.Measure(), kRule);
      EXPECT_TRUE(found.nodes.empty()) << nodes << " " << seed;
      ASSERT_EQ(found.links.size(), 1U) << nodes << " " << seed;
      EXPECT_EQ(found.links[0].from, 0U);
      EXPECT_EQ(found.links[0].to, 3U);
      EXPECT_NEAR(found.links[0].deficit, 0.31, 0.1);
    }
  }
}

// Six pairs are little to tell four nodes, a link and the noise from.
TEST(PairModel, NamesABadLinkOfFourNodesNearlyAlways) {
  int named = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    PairFleet fleet(4, seed);
    fleet.link_from = 0;
    fleet.link_to = 3;
    fleet.link = 6.9;
    const PairAnalysis found = AnalyzePairs(4, fleet.Measure(), kRule);
    EXPECT_TRUE(found.nodes.empty()) << seed;
    if (found.links.size() == 1 && found.links[0].from == 0 && found.links[0].to == 3) ++named;
  }
  EXPECT_GE(named, 95);
}

TEST(PairModel, TellsABadNodeAndABadLinkApart) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    PairFleet fleet(8, seed);
    fleet.SetNode(6, 7);
    fleet.link_from = 1;
    fleet.link_to = 4;
    fleet.link = 4;
    const PairAnalysis found = AnalyzePairs(8, fleet.Measure(), kRule);
    ASSERT_EQ(found.nodes.size(), 1U) << seed;
    EXPECT_EQ(found.nodes[0].node, 6U);
    ASSERT_EQ(found.links.size(), 1U) << seed;
    EXPECT_EQ(found.links[0].from, 1U);
    EXPECT_EQ(found.links[0].to, 4U);
    EXPECT_NEAR(found.links[0].deficit, 0.6, 0.05);
  }
}

TEST(PairModel, NamesTwoBadNodesOfEight) {
  PairFleet fleet(8);
  fleet.SetNode(1, 7);
  fleet.SetNode(5, 4);
  const PairAnalysis found = AnalyzePairs(8, fleet.Measure(), kRule);
  ASSERT_EQ(found.nodes.size(), 2U);
  EXPECT_EQ(found.nodes[0].node, 5U);  // The worse one first.
  EXPECT_EQ(found.nodes[1].node, 1U);
  EXPECT_TRUE(found.links.empty());
}

TEST(PairModel, BothWaysTellSendingFromReceiving) {
  PairFleet fleet(5);
  fleet.send[1] = 5;
  fleet.SetNode(4, 6);
  const PairAnalysis found = AnalyzePairs(5, fleet.Measure(true), kRule);
  EXPECT_TRUE(found.both_ways);
  ASSERT_EQ(found.nodes.size(), 2U);
  EXPECT_EQ(found.nodes[0].node, 1U);
  EXPECT_EQ(found.nodes[0].side, NodeSide::kSending);
  EXPECT_EQ(found.nodes[0].links, 4U);
  EXPECT_EQ(found.nodes[1].node, 4U);
  EXPECT_EQ(found.nodes[1].side, NodeSide::kBoth);
}

TEST(PairModel, BothWaysTellALinksDirection) {
  for (const bool one_way : {false, true}) {
    PairFleet fleet(6);
    fleet.link_from = 4;
    fleet.link_to = 2;
    fleet.link = 3;
    fleet.one_way = one_way;
    const PairAnalysis found = AnalyzePairs(6, fleet.Measure(true), kRule);
    EXPECT_TRUE(found.nodes.empty());
    ASSERT_EQ(found.links.size(), 1U);
    EXPECT_EQ(found.links[0].one_way, one_way);
    EXPECT_EQ(found.links[0].from, one_way ? 4U : 2U);
    EXPECT_EQ(found.links[0].to, one_way ? 2U : 4U);
  }
}

TEST(PairModel, NoiseAloneIsNoAlarm) {
  for (const size_t nodes : {4U, 8U}) {
    for (const bool both_ways : {false, true}) {
      int alarms = 0;
      for (uint64_t seed = 0; seed < 1000; ++seed) {
        PairFleet fleet(nodes, seed);
        const PairAnalysis found = AnalyzePairs(nodes, fleet.Measure(both_ways), kRule);
        if (!found.nodes.empty() || !found.links.empty()) ++alarms;
      }
      EXPECT_EQ(alarms, 0) << nodes << " nodes";
    }
  }
}

TEST(PairModel, LoudNoiseRaisesTheBar) {
  int alarms = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    PairFleet fleet(8, seed, 0.1);
    const PairAnalysis found = AnalyzePairs(8, fleet.Measure(), kRule);
    EXPECT_GT(found.noise, 0.03) << seed;
    if (!found.nodes.empty() || !found.links.empty()) ++alarms;
  }
  EXPECT_LE(alarms, 30);
}

TEST(PairModel, ErrorsOfTheMeasurementsCountAsNoise) {
  PairFleet fleet(6, 1, 0);
  fleet.link_from = 0;
  fleet.link_to = 1;
  fleet.link = 8;
  std::vector<PairValue> values = fleet.Measure();
  EXPECT_EQ(AnalyzePairs(6, values, kRule).links.size(), 1U);
  for (PairValue& value : values) value.error = 0.1 * value.value;
  EXPECT_TRUE(AnalyzePairs(6, values, kRule).links.empty());
}

TEST(PairModel, LatenciesAreBadWhenTheyAreHigh) {
  PairFleet fleet(6);
  std::vector<PairValue> values = fleet.Measure();
  for (PairValue& value : values) {
    if (value.from == 3 || value.to == 3) value.value *= 1.5;
    if (value.from == 0 && value.to == 1) value.value *= 0.5;
  }
  const PairAnalysis found = AnalyzePairs(6, values, {false, 0.10});
  ASSERT_EQ(found.nodes.size(), 1U);
  EXPECT_EQ(found.nodes[0].node, 3U);
  EXPECT_NEAR(found.nodes[0].deficit, 0.5, 0.05);
  EXPECT_TRUE(found.links.empty());
}

TEST(PairModel, PairsMayBeMissing) {
  PairFleet fleet(8);
  fleet.SetNode(2, 5);
  std::vector<PairValue> values = fleet.Measure();
  values.erase(std::remove_if(values.begin(), values.end(),
                              [](const PairValue& value) {
                                return value.from + value.to == 7 ||
                                       (value.from == 0 && value.to > 2);
                              }),
               values.end());
  const PairAnalysis found = AnalyzePairs(8, values, kRule);
  ASSERT_EQ(found.nodes.size(), 1U);
  EXPECT_EQ(found.nodes[0].node, 2U);
  EXPECT_EQ(found.nodes[0].links, 6U);
  // Node 0 has two links left.
  EXPECT_EQ(found.unjudged_nodes, std::vector<size_t>{0});
  EXPECT_EQ(found.expected.size(), values.size());
}

TEST(PairModel, ExpectsWhatNodesReachElsewhere) {
  PairFleet fleet(5, 1, 0);
  fleet.SetNode(1, 5);
  fleet.link_from = 2;
  fleet.link_to = 3;
  fleet.link = 2;
  const std::vector<PairValue> values = fleet.Measure();
  const PairAnalysis found = AnalyzePairs(5, values, kRule);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool slow = values[i].from == 1 || values[i].to == 1;
    EXPECT_NEAR(found.expected[i], slow ? 5 : 10, 1e-6);
  }
}

TEST(PairModel, ThreeNodesAreNotJudged) {
  PairFleet fleet(3);
  fleet.SetNode(0, 1);
  const PairAnalysis found = AnalyzePairs(3, fleet.Measure(), kRule);
  EXPECT_FALSE(found.judged);
  EXPECT_TRUE(found.nodes.empty());
  EXPECT_TRUE(found.links.empty());
  EXPECT_FALSE(AnalyzePairs(0, {}, kRule).judged);
}

}  // namespace
}  // namespace assay::cli
