#include "agent/core/cut_off.h"

#include <gtest/gtest.h>

#include <initializer_list>

#include "tests/unit/agent/gang_spec.h"

namespace assay::agent {
namespace {

v1::RunnerAborted Saying(std::initializer_list<int> heard, std::initializer_list<int> silent) {
  v1::RunnerAborted aborted;
  for (const int rank : heard) aborted.add_heard_ranks(rank);
  for (const int rank : silent) aborted.add_silent_ranks(rank);
  return aborted;
}

TEST(CutOffTest, WhoHearsAnotherNodeIsNotCutOffItself) {
  const auto cut = FindCutOff(Saying({1, 3}, {2}), 0, GangOf(4, {"a", "b", "c", "d"}));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->node, 2);
  EXPECT_EQ(cut->message,
            "node c is cut off from the gang: node a hears 2 of the 3 others, and not it");
}

TEST(CutOffTest, OfSeveralThatAreSilentTheFirstIsBlamedAndAllAreNamed) {
  const auto cut = FindCutOff(Saying({1}, {3, 2}), 0, GangOf(4, {"a", "b", "c", "d"}));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->node, 2);
  EXPECT_EQ(cut->message,
            "nodes c, d are cut off from the gang: node a hears 1 of the 3 others, and not them");
}

TEST(CutOffTest, WhoHearsNoneOfSeveralIsCutOffItself) {
  const auto cut = FindCutOff(Saying({}, {1, 2}), 0, GangOf(3, {"a", "b", "c"}));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->node, 0);
  EXPECT_EQ(cut->message, "node a is cut off from the gang: it hears none of the others");
}

// One that answered some seconds ago: this node had its network then.
TEST(CutOffTest, WhoMayHaveHeardAnotherLatelyBlamesNobody) {
  const auto cut = FindCutOff(Saying({}, {2, 3}), 0, GangOf(4, {"a", "b", "c", "d"}));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->node, std::nullopt);
}

v1::RunnerAborted Without(std::initializer_list<int> absent, v1::RunnerAborted aborted) {
  for (const int rank : absent) aborted.add_absent_ranks(rank);
  return aborted;
}

TEST(CutOffTest, WhoeverFellSilentIsNamedBeforeWhoNeverCame) {
  const v1::JobSpec gang = GangOf(4, {"a", "b", "c", "d"});
  EXPECT_EQ(FindCutOff(Without({1}, Saying({3}, {2})), 0, gang)->node, 2);
  EXPECT_EQ(FindCutOff(Without({1, 2}, Saying({3}, {})), 0, gang)->node, 1);
}

TEST(CutOffTest, WhoReachesNobodyIsCutOffItself) {
  const v1::JobSpec gang = GangOf(4, {"a", "b", "c", "d"});
  EXPECT_EQ(FindCutOff(Without({1, 2, 3}, Saying({}, {})), 0, gang)->node, 0);
  EXPECT_EQ(FindCutOff(Without({1}, Saying({}, {2, 3})), 0, gang)->node, 0);
}

// It was waited for because of its own lateness.
TEST(CutOffTest, WhoIsLateSaysNothingOfTheOneThatFellSilent) {
  const auto cut = FindCutOff(Without({1}, Saying({}, {2})), 0, GangOf(3, {"a", "b", "c"}));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->node, std::nullopt);
  EXPECT_EQ(cut->message,
            "nodes a and c do not reach each other: either may be cut off, and node b has not "
            "come");
}

TEST(CutOffTest, OfTwoThatDoNotReachEachOtherNeitherIsBlamed) {
  for (const int world_size : {2, 16}) {
    const v1::JobSpec pair = GangOf(world_size, {"a", "b"});
    for (const int own : {0, world_size / 2}) {
      const auto cut = FindCutOff(Saying({}, {world_size / 2 - own}), own, pair);
      ASSERT_TRUE(cut);
      EXPECT_EQ(cut->node, std::nullopt);
      EXPECT_EQ(cut->message, "nodes a and b do not reach each other: either may be cut off");
    }
  }
  // Others than rank 0 hear it alone.
  const auto cut = FindCutOff(Saying({}, {0}), 2, GangOf(3, {"a", "b", "c"}));
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->node, std::nullopt);
}

// Ranks of its own node are reached without a network.
TEST(CutOffTest, NodesCountNotRanks) {
  const v1::JobSpec gang = GangOf(6, {"a", "b", "c"});
  EXPECT_EQ(FindCutOff(Saying({1}, {2, 3, 4, 5}), 0, gang)->node, 0);
  EXPECT_EQ(FindCutOff(Without({4, 5}, Saying({1}, {2, 3})), 0, gang)->node, std::nullopt);
  EXPECT_EQ(FindCutOff(Saying({1}, {2, 3}), 0, gang)->node, std::nullopt);
  EXPECT_EQ(FindCutOff(Saying({1, 4}, {2, 3, 5}), 0, gang)->node, 1);
}

TEST(CutOffTest, WithoutASilentNodeNothingIsSaid) {
  const v1::JobSpec gang = GangOf(4, {"a", "b"});
  EXPECT_FALSE(FindCutOff(Saying({0}, {}), 2, gang));
  EXPECT_FALSE(FindCutOff(Saying({2}, {1, 3, -1, 4, 1000}), 0, gang));
  EXPECT_FALSE(FindCutOff(Saying({}, {1}), 0, GangOf(2, {"a"})));
  EXPECT_FALSE(FindCutOff(Saying({}, {1}), 0, GangOf(2, {})));
}

}  // namespace
}  // namespace assay::agent
