#include "agent/core/peer_node.h"

#include <gtest/gtest.h>

#include "tests/unit/agent/gang_spec.h"

namespace assay::agent {
namespace {

TEST(PeerNodeTest, NamesTheNodeOfARank) {
  EXPECT_EQ(NamePeersNodes("rank 2 is silent", GangOf(3, {"a", "b", "c"})),
            "rank 2 on node c is silent");
  EXPECT_EQ(SilentNode("rank 2 is silent", GangOf(3, {"a", "b", "c"})), 2);
  EXPECT_EQ(NamePeersNodes("rank 0: it ended", GangOf(2, {"a", "b"})),
            "rank 0 on node a: it ended");
  EXPECT_EQ(NamePeersNodes("rank 11", GangOf(16, {"a", "b"})), "rank 11 on node b");
}

TEST(PeerNodeTest, NamesTheNodesOfAllRanks) {
  const v1::JobSpec gang = GangOf(3, {"a", "b", "c"});
  EXPECT_EQ(NamePeersNodes("case 0: rank 1: exchange with rank 2: no rank 3", gang),
            "case 0: rank 1 on node b: exchange with rank 2 on node c: no rank 3");
  EXPECT_EQ(NamePeersNodes("rank 1 is silent; also silent: rank 0 for 14 s, rank 2 for 9 s", gang),
            "rank 1 on node b is silent; also silent: rank 0 on node a for 14 s, rank 2 on node c "
            "for 9 s");
}

TEST(PeerNodeTest, RanksAreNumberedNodeByNode) {
  EXPECT_EQ(NodeOfRank(7, GangOf(16, {"a", "b"})), 0);
  EXPECT_EQ(NodeOfRank(8, GangOf(16, {"a", "b"})), 1);
  EXPECT_EQ(NodeOfRank(16, GangOf(16, {"a", "b"})), std::nullopt);
  EXPECT_EQ(NodeOfRank(-1, GangOf(16, {"a", "b"})), std::nullopt);
  EXPECT_EQ(NodeOfRank(0, GangOf(16, {"a"})), std::nullopt);
}

TEST(PeerNodeTest, LeavesOtherMessagesAlone) {
  const v1::JobSpec gang = GangOf(4, {"a", "b"});
  for (const char* message : {"", "rank", "rank ", "rank x", "rank 4 is silent", "rank -1",
                              "rank 99999999999999999999", "ranks 1 and 2", "a crank 1"}) {
    EXPECT_EQ(NamePeersNodes(message, gang), message);
    EXPECT_EQ(SilentNode(message, gang), std::nullopt) << message;
  }
  EXPECT_EQ(NamePeersNodes("rank 1 is silent", GangOf(2, {"a"})), "rank 1 is silent");
  EXPECT_EQ(NamePeersNodes("rank 1 is silent", GangOf(3, {"a", "b"})), "rank 1 is silent");
}

// It may have waited for another, as the rank that says so did.
TEST(PeerNodeTest, ARankWhoseMessageDidNotComeIsNoSilentOne) {
  const v1::JobSpec gang = GangOf(3, {"a", "b", "c"});
  EXPECT_EQ(SilentNode("rank 0: no answer in time", gang), std::nullopt);
  EXPECT_EQ(NamePeersNodes("rank 0: no answer in time", gang),
            "rank 0 on node a: no answer in time");
}

TEST(PeerNodeTest, OfRanksThatHadNotComeThoseOfTheGangAreNamedOnce) {
  google::protobuf::RepeatedField<int32_t> ranks;
  for (const int rank : {2, 1, 2, 0, -1, 3, 1 << 30}) ranks.Add(rank);
  EXPECT_EQ(NotCome(ranks, GangOf(3, {"a", "b", "c"})),
            "; not come: rank 1 on node b, rank 2 on node c");
  EXPECT_EQ(NotCome({}, GangOf(3, {"a", "b", "c"})), "");
}

}  // namespace
}  // namespace assay::agent
