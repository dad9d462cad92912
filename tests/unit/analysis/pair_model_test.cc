#include "analysis/pair_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tests/unit/analysis/pair_fleet.h"

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

// The value from one node to another.
PairValue& Between(std::vector<PairValue>& values, size_t from, size_t to) {
  return *std::find_if(values.begin(), values.end(), [&](const PairValue& value) {
    return value.from == from && value.to == to;
  });
}

TEST(PairModel, AZeroIsTheWorstLinkAndDisturbsNoOther) {
  for (const bool both_ways : {false, true}) {
    PairFleet fleet(5);
    std::vector<PairValue> values = fleet.Measure(both_ways);
    Between(values, 1, 3).value = 0;
    const PairAnalysis found = AnalyzePairs(5, values, kRule);
    EXPECT_TRUE(found.nodes.empty());
    ASSERT_EQ(found.links.size(), 1U);
    EXPECT_EQ(found.links[0].from, 1U);
    EXPECT_EQ(found.links[0].to, 3U);
    EXPECT_EQ(found.links[0].deficit, 1);
    EXPECT_EQ(found.links[0].one_way, both_ways);
    EXPECT_LT(found.noise, 0.1);
    for (const double expected : found.expected) EXPECT_NEAR(expected, 10, 1);
  }
}

// Where most pairs have one direction alone, and directions are not told apart.
TEST(PairModel, AZeroOfOneDirectionIsNamedWhicheverItIs) {
  for (const bool forward : {false, true}) {
    PairFleet fleet(6);
    std::vector<PairValue> values = fleet.Measure(false);
    PairValue back = Between(values, 0, 1);
    std::swap(back.from, back.to);
    (forward ? Between(values, 0, 1) : back).value = 0;
    values.push_back(back);
    const PairAnalysis found = AnalyzePairs(6, values, kRule);
    EXPECT_TRUE(found.nodes.empty());
    ASSERT_EQ(found.links.size(), 1U) << forward;
    EXPECT_EQ(found.links[0].from, forward ? 0U : 1U);
    EXPECT_TRUE(found.links[0].one_way);
  }
}

TEST(PairModel, ANodeThatCarriesNothingIsNotDoubtfulToo) {
  PairFleet fleet(8);
  std::vector<PairValue> values = fleet.Measure(true);
  for (PairValue& value : values) {
    value.error = 0.01;
    if (value.from != 2) continue;
    value.value = value.to < 5 ? 0 : value.value / 2;
    value.error = 0.6;
  }
  const PairAnalysis found = AnalyzePairs(8, values, kRule);
  ASSERT_EQ(found.nodes.size(), 1U);
  EXPECT_EQ(found.nodes[0].node, 2U);
  EXPECT_TRUE(found.doubtful_nodes.empty());
}

TEST(PairModel, ANodeThatCarriesNothingIsNamedAsSuch) {
  PairFleet fleet(4);
  std::vector<PairValue> values = fleet.Measure(true);
  for (PairValue& value : values) {
    if (value.from == 2) value.value = 0;
  }
  const PairAnalysis found = AnalyzePairs(4, values, kRule);
  ASSERT_EQ(found.nodes.size(), 1U);
  EXPECT_EQ(found.nodes[0].node, 2U);
  EXPECT_EQ(found.nodes[0].side, NodeSide::kSending);
  EXPECT_EQ(found.nodes[0].deficit, 1);
  EXPECT_EQ(found.nodes[0].bad_links, 3U);
  EXPECT_TRUE(found.links.empty());
}

TEST(PairModel, AllZerosNameNobody) {
  for (const bool higher_is_better : {false, true}) {
    PairFleet fleet(5);
    std::vector<PairValue> values = fleet.Measure();
    for (PairValue& value : values) value.value = 0;
    const PairAnalysis found = AnalyzePairs(5, values, {higher_is_better, 0.1});
    EXPECT_TRUE(found.nodes.empty());
    EXPECT_EQ(found.links.size(), higher_is_better ? values.size() : 0);
    for (const double expected : found.expected) EXPECT_EQ(expected, 0);
  }
}

TEST(PairModel, AZeroCountIsTheBest) {
  PairFleet fleet(6);
  std::vector<PairValue> values = fleet.Measure();
  for (PairValue& value : values) {
    value.value = value.from == 4 || value.to == 4 ? 3 : 0;
    value.error = 0.1;
  }
  Between(values, 0, 1).value = 7;
  const PairAnalysis found = AnalyzePairs(6, values, {false, 0.1});
  EXPECT_TRUE(found.additive);
  ASSERT_EQ(found.nodes.size(), 1U);
  EXPECT_EQ(found.nodes[0].node, 4U);
  EXPECT_NEAR(found.nodes[0].deficit, 3, 1e-6);  // In the values' unit.
  ASSERT_EQ(found.links.size(), 1U);
  EXPECT_NEAR(found.links[0].deficit, 7, 1e-6);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(found.expected[i], values[i].from == 4 || values[i].to == 4 ? 3 : 0, 1e-6);
  }
}

TEST(PairModel, ALinkIsDoubtfulWithinItsOwnError) {
  PairFleet fleet(6, 1, 0.005);
  fleet.link_from = 0;
  fleet.link_to = 3;
  fleet.link = 7;
  std::vector<PairValue> values = fleet.Measure(false, 0.005);
  EXPECT_EQ(AnalyzePairs(6, values, kRule).links.size(), 1U);
  for (const std::optional<double> error : {std::optional<double>(1), std::optional<double>()}) {
    Between(values, 0, 3).error = error;
    const PairAnalysis found = AnalyzePairs(6, values, kRule);
    EXPECT_TRUE(found.links.empty());
    ASSERT_EQ(found.doubtful_links.size(), 1U);
    EXPECT_EQ(found.doubtful_links[0].to, 3U);
    EXPECT_NEAR(found.doubtful_links[0].deficit, 0.3, 0.05);
  }
  // What is a tenth of the rate is not within an error of a twentieth.
  Between(values, 0, 3).value = 1;
  Between(values, 0, 3).error = 0.5;
  EXPECT_EQ(AnalyzePairs(6, values, kRule).links.size(), 1U);
  Between(values, 0, 3).value = 0;
  EXPECT_EQ(AnalyzePairs(6, values, kRule).links.size(), 1U);
  Between(values, 0, 3).error = 5;
  EXPECT_EQ(AnalyzePairs(6, values, kRule).doubtful_links.size(), 1U);
}

// Where no error is known, what the model leaves tells the noise of all alike.
TEST(PairModel, WithoutAnyErrorTheScatterDecides) {
  PairFleet fleet(6, 1, 0.005);
  fleet.link_from = 0;
  fleet.link_to = 3;
  fleet.link = 7;
  EXPECT_EQ(AnalyzePairs(6, fleet.Measure(), kRule).links.size(), 1U);
}

TEST(PairModel, ANodeIsDoubtfulWithinItsOwnErrors) {
  PairFleet fleet(8, 1, 0.005);
  fleet.SetNode(5, 7);
  std::vector<PairValue> values = fleet.Measure(false, 0.005);
  EXPECT_EQ(AnalyzePairs(8, values, kRule).nodes.size(), 1U);
  for (PairValue& value : values) {
    if (value.from == 5 || value.to == 5) value.error = 0.4 * value.value;
  }
  const PairAnalysis found = AnalyzePairs(8, values, kRule);
  EXPECT_TRUE(found.nodes.empty());
  EXPECT_TRUE(found.links.empty());
  ASSERT_EQ(found.doubtful_nodes.size(), 1U);
  EXPECT_EQ(found.doubtful_nodes[0].node, 5U);
}

TEST(PairModel, AMissingDirectionLeavesTheOthersApart) {
  PairFleet fleet(5);
  fleet.send[1] = 5;
  std::vector<PairValue> values = fleet.Measure(true);
  std::erase_if(values, [](const PairValue& value) { return value.from == 2 && value.to == 3; });
  const PairAnalysis found = AnalyzePairs(5, values, kRule);
  EXPECT_TRUE(found.both_ways);
  ASSERT_EQ(found.nodes.size(), 1U);
  EXPECT_EQ(found.nodes[0].node, 1U);
  EXPECT_EQ(found.nodes[0].side, NodeSide::kSending);
  EXPECT_TRUE(found.links.empty());
}

TEST(PairModel, LimitsTellWhatWouldBeNamed) {
  PairFleet quiet(8, 1, 0.001);
  const PairAnalysis found = AnalyzePairs(8, quiet.Measure(), kRule);
  EXPECT_NEAR(found.node_limit, 0.10, 1e-9);
  EXPECT_NEAR(found.link_limit, 0.10, 1e-9);
  ASSERT_TRUE(found.last_node && found.last_link);
  EXPECT_LT(found.last_node->deficit, 0.01);
  EXPECT_LT(found.last_link->deficit, 0.01);
  PairFleet loud(8, 1, 0.1);
  EXPECT_GT(AnalyzePairs(8, loud.Measure(), kRule).link_limit, 0.3);
}

TEST(DeadNodes, ExplainFailedPairs) {
  const auto failing = [](const std::vector<std::pair<size_t, size_t>>& dead) {
    std::vector<PairOutcome> outcomes;
    for (size_t a = 0; a < 6; ++a) {
      for (size_t b = a + 1; b < 6; ++b) {
        outcomes.push_back({a, b, std::count(dead.begin(), dead.end(), std::pair(a, b)) > 0});
      }
    }
    return DeadNodes(outcomes);
  };
  EXPECT_TRUE(failing({}).empty());
  EXPECT_TRUE(failing({{0, 1}}).empty());
  EXPECT_TRUE(failing({{0, 1}, {0, 2}}).empty());
  const auto one = failing({{0, 3}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {0, 1}});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].node, 3U);
  EXPECT_EQ(one[0].dead, 5U);
  EXPECT_EQ(one[0].pairs, 5U);
  // Most of its pairs are enough, and two nodes share the pair between them.
  const auto two = failing({{0, 3}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {0, 4}, {1, 4}, {2, 4}});
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].node, 3U);
  EXPECT_EQ(two[1].node, 4U);
  EXPECT_EQ(two[1].dead, 4U);
  EXPECT_EQ(two[1].pairs, 5U);
  EXPECT_TRUE(DeadNodes({{0, 1, true}, {0, 2, true}, {1, 2, true}}).empty());
}

}  // namespace
}  // namespace assay::cli
