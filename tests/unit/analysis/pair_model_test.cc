#include "analysis/pair_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "tests/unit/analysis/pair_fleet.h"

namespace assay::analysis {
namespace {

constexpr PairRule kRule;

// Returns the value measured from one node to another.
PairValue& Between(std::vector<PairValue>& values, size_t from, size_t to) {
  return *std::find_if(values.begin(), values.end(), [&](const PairValue& value) {
    return value.from == from && value.to == to;
  });
}

class PairModelBadNode : public testing::TestWithParam<std::tuple<size_t, size_t, double>> {};

TEST_P(PairModelBadNode, IsNamed) {
  const auto [nodes, bad, noise] = GetParam();
  int links = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    PairFleet fleet(nodes, seed, noise);
    fleet.SetNode(bad, 5.7);
    const PairAnalysis found = AnalyzePairs(fleet.Measure(), kRule);
    EXPECT_EQ(found.verdict(), Verdict::kBad);
    ASSERT_EQ(found.nodes.size(), 1U) << seed;
    EXPECT_EQ(found.nodes[0].node, bad);
    EXPECT_NEAR(found.nodes[0].deficit, 0.43, 0.1);
    EXPECT_EQ(found.nodes[0].bad_links, nodes - 1);
    EXPECT_EQ(found.nodes[0].links, nodes - 1);
    links += found.links.empty() ? 0 : 1;
  }
  // The six pairs of four nodes leave almost nothing to estimate the noise from.
  EXPECT_LE(links, nodes == 4 ? 2 : 0);
}

INSTANTIATE_TEST_SUITE_P(Fleets, PairModelBadNode,
                         testing::Combine(testing::Values(4, 5, 8), testing::Values(0, 2, 3),
                                          testing::Values(0, 0.02)));

TEST(PairModel, BadLink_IsNamed) {
  for (const size_t nodes : {4U, 5U, 8U}) {
    int named = 0;
    for (uint64_t seed = 0; seed < 100; ++seed) {
      PairFleet fleet(nodes, seed);
      fleet.SetLink(0, 3, 6.9);
      const PairAnalysis found = AnalyzePairs(fleet.Measure(), kRule);
      EXPECT_TRUE(found.nodes.empty()) << nodes << " " << seed;
      if (found.links.size() != 1) continue;
      EXPECT_EQ(found.links[0].from, 0U);
      EXPECT_EQ(found.links[0].to, 3U);
      EXPECT_NEAR(found.links[0].deficit, 0.31, 0.1);
      ++named;
    }
    EXPECT_GE(named, nodes == 4 ? 95 : 100);
  }
}

TEST(PairModel, BadNodesAndBadLink_AreToldApart) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    PairFleet fleet(8, seed);
    fleet.SetNode(6, 7);
    fleet.SetNode(5, 5);
    fleet.SetLink(1, 4, 4);
    const PairAnalysis found = AnalyzePairs(fleet.Measure(), kRule);
    ASSERT_EQ(found.nodes.size(), 2U) << seed;
    EXPECT_EQ(found.nodes[0].node, 5U);  // The worst first.
    EXPECT_EQ(found.nodes[1].node, 6U);
    ASSERT_EQ(found.links.size(), 1U) << seed;
    EXPECT_EQ(found.links[0].from, 1U);
    EXPECT_EQ(found.links[0].to, 4U);
    EXPECT_NEAR(found.links[0].deficit, 0.6, 0.05);
  }
}

TEST(PairModel, BothDirections_TellSendingFromReceiving) {
  for (const bool one_value_missing : {false, true}) {
    PairFleet fleet(5);
    fleet.send[1] = 5;
    fleet.SetNode(4, 6);
    std::vector<PairValue> values = fleet.Measure(true);
    if (one_value_missing) {
      std::erase_if(values, [](const auto& value) { return value.from == 2 && value.to == 3; });
    }
    const PairAnalysis found = AnalyzePairs(values, kRule);
    EXPECT_TRUE(found.directed);
    ASSERT_EQ(found.nodes.size(), 2U);
    EXPECT_EQ(found.nodes[0].node, 1U);
    EXPECT_EQ(found.nodes[0].side, NodeSide::kSending);
    EXPECT_EQ(found.nodes[0].links, 4U);
    EXPECT_EQ(found.nodes[1].node, 4U);
    EXPECT_EQ(found.nodes[1].side, NodeSide::kBoth);
    EXPECT_TRUE(found.links.empty());
  }
}

TEST(PairModel, BothDirections_TellWhichWayALinkIsBad) {
  for (const bool one_way : {false, true}) {
    PairFleet fleet(6);
    fleet.SetLink(4, 2, 3, one_way);
    const PairAnalysis found = AnalyzePairs(fleet.Measure(true), kRule);
    EXPECT_TRUE(found.nodes.empty());
    ASSERT_EQ(found.links.size(), 1U);
    EXPECT_EQ(found.links[0].one_way, one_way);
    EXPECT_EQ(found.links[0].from, one_way ? 4U : 2U);
    EXPECT_EQ(found.links[0].to, one_way ? 2U : 4U);
  }
}

TEST(PairModel, NoiseAlone_NamesNothing) {
  for (const size_t nodes : {4U, 8U}) {
    for (const bool both_ways : {false, true}) {
      for (uint64_t seed = 0; seed < 1000; ++seed) {
        PairFleet fleet(nodes, seed);
        EXPECT_NE(AnalyzePairs(fleet.Measure(both_ways), kRule).verdict(), Verdict::kBad);
      }
    }
  }
}

TEST(PairModel, LoudNoise_RaisesTheLimitsAndLeavesTheVerdictOpen) {
  PairFleet quiet(8, 1, 0.001);
  const PairAnalysis found = AnalyzePairs(quiet.Measure(), kRule);
  EXPECT_EQ(found.verdict(), Verdict::kClear);
  EXPECT_NEAR(found.node_limit, 0.10, 1e-9);
  EXPECT_NEAR(found.link_limit, 0.10, 1e-9);
  int bad = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    PairFleet loud(8, seed, 0.1);
    const PairAnalysis hidden = AnalyzePairs(loud.Measure(), kRule);
    EXPECT_GT(hidden.noise, 0.03) << seed;
    EXPECT_TRUE(hidden.NoiseHidesThreshold());
    EXPECT_NE(hidden.verdict(), Verdict::kClear);
    bad += hidden.verdict() == Verdict::kBad ? 1 : 0;
  }
  EXPECT_LE(bad, 30);
}

TEST(PairModel, ErrorsOfAllValues_CountAsNoise) {
  PairFleet fleet(6, 1, 0);
  fleet.SetLink(0, 1, 8);
  std::vector<PairValue> values = fleet.Measure();
  EXPECT_EQ(AnalyzePairs(values, kRule).links.size(), 1U);
  for (PairValue& value : values) value.error = 0.1 * value.value;
  const PairAnalysis found = AnalyzePairs(values, kRule);
  EXPECT_TRUE(found.links.empty());
  EXPECT_EQ(found.verdict(), Verdict::kUndecided);
}

TEST(PairModel, BadLinkWithinItsOwnError_IsUncertain) {
  PairFleet fleet(6, 1, 0.005);
  fleet.SetLink(0, 3, 7);
  std::vector<PairValue> values = fleet.Measure(false, 0.005);
  EXPECT_EQ(AnalyzePairs(values, kRule).verdict(), Verdict::kBad);
  PairValue& bad = Between(values, 0, 3);
  bad.error = 1;
  const PairAnalysis found = AnalyzePairs(values, kRule);
  ASSERT_EQ(found.links.size(), 1U);
  EXPECT_FALSE(found.links[0].certain);
  EXPECT_EQ(found.links[0].to, 3U);
  EXPECT_NEAR(found.links[0].deficit, 0.3, 0.05);
  EXPECT_EQ(found.verdict(), Verdict::kUndecided);
  EXPECT_EQ(found.values[static_cast<size_t>(&bad - values.data())].verdict,
            PairVerdict::kUncertain);
  // An error of half the value does not explain a tenth of the others' rate.
  bad.value = 1;
  bad.error = 0.5;
  EXPECT_EQ(AnalyzePairs(values, kRule).verdict(), Verdict::kBad);
}

TEST(PairModel, BadNodeWithinItsOwnErrors_IsUncertain) {
  PairFleet fleet(8, 1, 0.005);
  fleet.SetNode(5, 7);
  std::vector<PairValue> values = fleet.Measure(false, 0.005);
  EXPECT_EQ(AnalyzePairs(values, kRule).verdict(), Verdict::kBad);
  for (PairValue& value : values) {
    if (value.from == 5 || value.to == 5) value.error = 0.4 * value.value;
  }
  const PairAnalysis found = AnalyzePairs(values, kRule);
  EXPECT_TRUE(found.links.empty());
  ASSERT_EQ(found.nodes.size(), 1U);
  EXPECT_FALSE(found.nodes[0].certain);
  EXPECT_EQ(found.nodes[0].node, 5U);
  EXPECT_EQ(found.verdict(), Verdict::kUndecided);
}

TEST(PairModel, LowerIsBetter_HighValuesAreBad) {
  PairFleet fleet(6);
  std::vector<PairValue> values = fleet.Measure();
  for (PairValue& value : values) {
    if (value.from == 3 || value.to == 3) value.value *= 1.5;
    if (value.from == 0 && value.to == 1) value.value *= 0.5;
  }
  const PairAnalysis found = AnalyzePairs(values, {false, 0.10});
  ASSERT_EQ(found.nodes.size(), 1U);
  EXPECT_EQ(found.nodes[0].node, 3U);
  EXPECT_NEAR(found.nodes[0].deficit, 0.5, 0.05);
  EXPECT_TRUE(found.links.empty());
}

TEST(PairModel, CountsWithZeros_AreComparedByDifference) {
  PairFleet fleet(6);
  std::vector<PairValue> values = fleet.Measure();
  for (PairValue& value : values) {
    value.value = value.from == 4 || value.to == 4 ? 3 : 0;
    value.error = 0.1;
  }
  Between(values, 0, 1).value = 7;
  const PairAnalysis found = AnalyzePairs(values, {false, 0.1});
  EXPECT_TRUE(found.additive);
  ASSERT_EQ(found.nodes.size(), 1U);
  EXPECT_EQ(found.nodes[0].node, 4U);
  EXPECT_NEAR(found.nodes[0].deficit, 3, 1e-6);
  ASSERT_EQ(found.links.size(), 1U);
  EXPECT_NEAR(found.links[0].deficit, 7, 1e-6);
  for (PairValue& value : values) value.value = 0;
  EXPECT_EQ(AnalyzePairs(values, {false, 0.1}).verdict(),
            Verdict::kUndecided);  // Within the errors.
  for (PairValue& value : values) value.error = 0;
  EXPECT_EQ(AnalyzePairs(values, {false, 0.1}).verdict(), Verdict::kClear);
}

TEST(PairModel, MissingPairs_LeaveNodesWithTooFewLinksUnjudged) {
  PairFleet fleet(8);
  fleet.SetNode(2, 5);
  std::vector<PairValue> values = fleet.Measure();
  std::erase_if(values, [](const PairValue& value) {
    return value.from + value.to == 7 || (value.from == 0 && value.to > 2);
  });
  const PairAnalysis found = AnalyzePairs(values, kRule);
  ASSERT_EQ(found.nodes.size(), 1U);
  EXPECT_EQ(found.nodes[0].node, 2U);
  EXPECT_EQ(found.nodes[0].links, 6U);
  EXPECT_EQ(found.unjudged_nodes, std::vector<size_t>{0});  // It has two links left.
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(found.values[i].verdict == PairVerdict::kUnjudged, values[i].from == 0);
  }
}

TEST(PairModel, ThreeNodes_AreNotJudged) {
  PairFleet fleet(3);
  fleet.SetNode(0, 1);
  for (const bool both_ways : {false, true}) {
    const PairAnalysis found = AnalyzePairs(fleet.Measure(both_ways), kRule);
    EXPECT_EQ(found.unjudged_nodes.size(), 3U);
    EXPECT_TRUE(found.nodes.empty());
    EXPECT_TRUE(found.links.empty());
    EXPECT_EQ(found.verdict(), Verdict::kUndecided);
  }
  EXPECT_EQ(AnalyzePairs({}, kRule).verdict(), Verdict::kUndecided);
}

TEST(PairModel, ExpectedValue_IsWhatBothNodesReachElsewhere) {
  PairFleet fleet(5, 1, 0);
  fleet.SetNode(1, 5);
  fleet.SetLink(2, 3, 2);
  const std::vector<PairValue> values = fleet.Measure();
  const PairAnalysis found = AnalyzePairs(values, kRule);
  for (size_t i = 0; i < values.size(); ++i) {
    const bool slow_node = values[i].from == 1 || values[i].to == 1;
    const bool slow_link = values[i].from == 2 && values[i].to == 3;
    EXPECT_NEAR(found.values[i].expected.value_or(0), slow_node ? 5 : 10, 1e-6);
    EXPECT_EQ(found.values[i].verdict, slow_node   ? PairVerdict::kBadNode
                                       : slow_link ? PairVerdict::kBadLink
                                                   : PairVerdict::kOk);
  }
}

}  // namespace
}  // namespace assay::analysis
