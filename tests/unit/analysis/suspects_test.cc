#include "analysis/suspects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace assay::analysis {
namespace {

// Returns all pairs of six nodes; those in `failed` failed.
std::vector<TriedPair> SixNodes(const std::vector<std::pair<size_t, size_t>>& failed) {
  std::vector<TriedPair> tried;
  for (size_t a = 0; a < 6; ++a) {
    for (size_t b = a + 1; b < 6; ++b) {
      tried.push_back({a, b, std::count(failed.begin(), failed.end(), std::pair(a, b)) > 0});
    }
  }
  return tried;
}

TEST(FailingNodes, FewFailures_NameNoNode) {
  EXPECT_TRUE(FailingNodes(SixNodes({})).empty());
  EXPECT_TRUE(FailingNodes(SixNodes({{0, 1}})).empty());
  EXPECT_TRUE(FailingNodes(SixNodes({{0, 1}, {0, 2}})).empty());
}

TEST(FailingNodes, NodeWithMostPairsFailed_IsNamed) {
  const auto one = FailingNodes(SixNodes({{0, 3}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {0, 1}}));
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].node, 3U);
  EXPECT_EQ(one[0].failed, 5U);
  EXPECT_EQ(one[0].pairs, 5U);
  // The two nodes share a pair.
  const auto two =
      FailingNodes(SixNodes({{0, 3}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {0, 4}, {1, 4}, {2, 4}}));
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].node, 3U);
  EXPECT_EQ(two[1].node, 4U);
  EXPECT_EQ(two[1].failed, 4U);
}

TEST(FailingNodes, AllPairsFailed_NamesNoNode) {
  EXPECT_TRUE(FailingNodes({{0, 1, true}, {0, 2, true}, {1, 2, true}}).empty());
}

TEST(RankSuspects, NodesComeFirstThenFailuresThenTheNumberOfAnalyses) {
  PairAnalysis first;
  first.nodes = {{2, NodeSide::kBoth, 0.5, 4, 4, true}, {4, NodeSide::kBoth, 0.5, 4, 4, false}};
  first.links = {{5, 1, false, 0.4, true}};
  PairAnalysis second;
  second.links = {{0, 1, false, 0.4, true}, {1, 5, true, 0.3, true}};
  const auto suspects =
      RankSuspects({first, second}, SixNodes({{0, 3}, {1, 3}, {2, 3}, {3, 4}, {3, 5}, {4, 5}}));
  ASSERT_EQ(suspects.size(), 5U);
  EXPECT_TRUE(suspects[0].is_node() && suspects[0].failed);
  EXPECT_EQ(suspects[0].a, 3U);
  EXPECT_TRUE(suspects[1].is_node());
  EXPECT_EQ(suspects[1].a, 2U);
  EXPECT_EQ(suspects[1].analyses, std::vector<size_t>{0});
  EXPECT_TRUE(suspects[2].failed);
  EXPECT_TRUE(suspects[2].a == 4 && suspects[2].b == 5);
  EXPECT_TRUE(suspects[3].a == 1 && suspects[3].b == 5);
  EXPECT_EQ(suspects[3].analyses, (std::vector<size_t>{0, 1}));
  EXPECT_TRUE(suspects[4].a == 0 && suspects[4].b == 1);
}

}  // namespace
}  // namespace assay::analysis
