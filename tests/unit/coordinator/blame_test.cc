#include "coordinator/core/attempts/blame.h"

#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>

#include "tests/wording.h"
#include "wire/reasons.h"

namespace assay::coordinator {
namespace {

using Ranks = std::initializer_list<int>;

// A gang on nodes a, b, ... whose agents have all spoken.
Evidence Gang(int nodes, int ranks_per_node = 1) {
  Evidence gang;
  gang.world_size = nodes * ranks_per_node;
  for (int i = 0; i < nodes; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    gang.nodes.push_back({"id-" + name, name, /*heard=*/true, /*lost=*/false, std::nullopt});
  }
  return gang;
}

// Returns the report of `rank` that it lost `lost`, with the ranks whose hosts it hears or not.
v1::Failure Report(int rank, v1::Reason reason, int lost, Ranks heard = {}, Ranks silent = {},
                   Ranks absent = {}) {
  v1::Failure failure = MakeFailure(reason, "the rank's own words");
  failure.set_rank(rank);
  failure.set_last_phase("case 0 (bytes=8), measure");
  v1::PeerLoss& loss = *failure.mutable_peer_loss();
  loss.set_rank(rank);
  loss.set_lost_rank(lost);
  for (const int one : heard) loss.add_heard_ranks(one);
  for (const int one : silent) loss.add_silent_ranks(one);
  for (const int one : absent) loss.add_absent_ranks(one);
  return failure;
}

void ExpectBlame(const std::optional<Blame>& blame, v1::Reason reason, v1::FailureClass who,
                 const std::string& node_id) {
  ASSERT_TRUE(blame);
  EXPECT_EQ(blame->failure.reason(), reason) << blame->failure.message();
  EXPECT_EQ(blame->failure.failure_class(), who) << blame->failure.message();
  EXPECT_EQ(blame->failure.node_id(), node_id) << blame->failure.message();
}

constexpr auto kNode = v1::FAILURE_CLASS_NODE;
constexpr auto kInfrastructure = v1::FAILURE_CLASS_INFRASTRUCTURE;

TEST(BlameTest, AnotherCauseThanALostPeerDecidesAtOnce) {
  Evidence gang = Gang(3);
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_UNREACHABLE, 1, {2}, {1});
  gang.nodes[2].failure = MakeFailure(v1::REASON_RUNNER_CRASHED, "killed by signal 9");
  gang.nodes[2].failure->set_node_id("id-c");
  ExpectBlame(DecideBlame(gang, false), v1::REASON_RUNNER_CRASHED, v1::FAILURE_CLASS_JOB, "id-c");
}

TEST(BlameTest, ALostConnectionWaitsForItsCause) {
  Evidence gang = Gang(3);
  gang.nodes[1].failure = Report(1, v1::REASON_PEER_LOST, 0);
  EXPECT_FALSE(DecideBlame(gang, false));
  const auto blame = DecideBlame(gang, true);
  ExpectBlame(blame, v1::REASON_PEER_LOST, kInfrastructure, "");
  EXPECT_WORDING("coordinator/blame-peer-lost", blame->failure.message());
}

TEST(BlameTest, ALostAgentIsBlamedForTheLossOfItsRanks) {
  Evidence gang = Gang(3);
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_LOST, 1);
  gang.nodes[1].lost = true;
  const auto blame = DecideBlame(gang, false);
  ExpectBlame(blame, v1::REASON_AGENT_LOST, kNode, "id-b");
  EXPECT_WORDING("coordinator/blame-agent-lost", blame->failure.message());
}

TEST(BlameTest, AFrozenRankIsBlamedAtOnce) {
  Evidence gang = Gang(3);
  v1::Failure report = Report(0, v1::REASON_PEER_FROZEN, 2, {1, 2});
  report.mutable_peer_loss()->mutable_silence()->set_seconds(15);
  gang.nodes[0].failure = report;
  const auto blame = DecideBlame(gang, false);
  ExpectBlame(blame, v1::REASON_PEER_FROZEN, kNode, "id-c");
  EXPECT_WORDING("coordinator/blame-frozen", blame->failure.message());
}

TEST(BlameTest, AFrozenRankZeroIsBlamedByTheOthers) {
  Evidence gang = Gang(2);
  gang.nodes[1].failure = Report(1, v1::REASON_PEER_FROZEN, 0);
  ExpectBlame(DecideBlame(gang, false), v1::REASON_PEER_FROZEN, kNode, "id-a");
}

TEST(BlameTest, ASilentNodeIsBlamedIfRankZeroHearsOthers) {
  Evidence gang = Gang(4);
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_UNREACHABLE, 2, {1, 3}, {2});
  const auto blame = DecideBlame(gang, false);
  ExpectBlame(blame, v1::REASON_PEER_UNREACHABLE, kNode, "id-c");
  EXPECT_WORDING("coordinator/blame-cut-off", blame->failure.message());
}

TEST(BlameTest, TheFirstOfSeveralSilentNodesIsBlamed) {
  Evidence gang = Gang(4);
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_UNREACHABLE, 3, {1}, {3, 2});
  ExpectBlame(DecideBlame(gang, false), v1::REASON_PEER_UNREACHABLE, kNode, "id-c");
}

TEST(BlameTest, RankZeroThatHearsNobodyIsCutOffItself) {
  for (const bool joined : {true, false}) {
    Evidence gang = Gang(3);
    gang.nodes[0].failure = joined ? Report(0, v1::REASON_PEER_UNREACHABLE, 1, {}, {1, 2})
                                   : Report(0, v1::REASON_PEER_TIMEOUT, 1, {}, {}, {1, 2});
    const auto blame = DecideBlame(gang, false);
    ASSERT_TRUE(blame);
    EXPECT_EQ(blame->failure.failure_class(), kNode);
    EXPECT_EQ(blame->failure.node_id(), "id-a");
  }
}

TEST(BlameTest, RankZeroThatMayHearAnotherBlamesNoNode) {
  Evidence gang = Gang(4);  // Rank 1 answered some seconds ago.
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_UNREACHABLE, 2, {}, {2, 3});
  EXPECT_FALSE(DecideBlame(gang, false));
  ExpectBlame(DecideBlame(gang, true), v1::REASON_PEER_UNREACHABLE, kInfrastructure, "");
}

TEST(BlameTest, ANodeThatNeverJoinedIsBlamedAfterSilentOnes) {
  Evidence gang = Gang(4);
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_TIMEOUT, 1, {3}, {2}, {1});
  ExpectBlame(DecideBlame(gang, false), v1::REASON_PEER_UNREACHABLE, kNode, "id-c");
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_TIMEOUT, 1, {3}, {}, {1, 2});
  ExpectBlame(DecideBlame(gang, false), v1::REASON_PEER_TIMEOUT, kNode, "id-b");
}

TEST(BlameTest, ALateNodeSaysNothingAboutTheOneThatFellSilent) {
  Evidence gang = Gang(3);
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_UNREACHABLE, 2, {}, {2}, {1});
  ExpectBlame(DecideBlame(gang, true), v1::REASON_PEER_UNREACHABLE, kInfrastructure, "");
}

TEST(BlameTest, OfTwoNodesThatDoNotReachEachOtherNeitherIsBlamed) {
  Evidence gang = Gang(2, 2);
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_UNREACHABLE, 2, {1}, {2, 3});
  gang.nodes[1].failure = Report(2, v1::REASON_PEER_UNREACHABLE, 0, {}, {0});
  const auto blame = DecideBlame(gang, false);
  ExpectBlame(blame, v1::REASON_PEER_UNREACHABLE, kInfrastructure, "");
  EXPECT_WORDING("coordinator/blame-two-nodes", blame->failure.message());
}

TEST(BlameTest, NodesCountAndNotTheirRanks) {
  Evidence gang = Gang(3, 2);
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_UNREACHABLE, 2, {1}, {2, 3, 4, 5});
  ExpectBlame(DecideBlame(gang, false), v1::REASON_PEER_UNREACHABLE, kNode, "id-a");
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_UNREACHABLE, 2, {1, 4}, {2, 3, 5});
  ExpectBlame(DecideBlame(gang, false), v1::REASON_PEER_UNREACHABLE, kNode, "id-b");
}

TEST(BlameTest, TwoRanksThatLoseEachOtherWhileRankZeroHearsBothBlameNoNode) {
  Evidence gang = Gang(3);
  for (const int rank : {0, 1, 2}) {
    v1::Failure report = Report(rank, v1::REASON_PEER_UNREACHABLE, 1, {1, 2});
    report.mutable_peer_loss()->set_rank(2);  // All ranks agree on the error of rank 2.
    if (rank > 0) report.mutable_peer_loss()->clear_heard_ranks();
    gang.nodes[static_cast<size_t>(rank)].failure = report;
  }
  const auto blame = DecideBlame(gang, false);
  ExpectBlame(blame, v1::REASON_PEER_UNREACHABLE, kInfrastructure, "");
  EXPECT_WORDING("coordinator/blame-two-ranks", blame->failure.message());
}

TEST(BlameTest, ARankThatMayHaveMissedTheStartIsNotBlamed) {
  Evidence gang = Gang(2);
  gang.nodes[1].failure = Report(1, v1::REASON_PEER_FROZEN, 0);
  gang.nodes[0].heard = false;
  const auto blame = DecideBlame(gang, false);
  ExpectBlame(blame, v1::REASON_GANG_NOT_STARTED, kInfrastructure, "");
  EXPECT_WORDING("coordinator/blame-missed-start", blame->failure.message());
}

TEST(BlameTest, RanksThatDoNotExistAreIgnored) {
  Evidence gang = Gang(2);
  gang.nodes[0].failure = Report(0, v1::REASON_PEER_UNREACHABLE, 1000, {-1}, {1 << 30, -5}, {7});
  ExpectBlame(DecideBlame(gang, true), v1::REASON_PEER_UNREACHABLE, kInfrastructure, "");
  gang.nodes[0].failure = Report(99, v1::REASON_PEER_FROZEN, 99);
  ExpectBlame(DecideBlame(gang, true), v1::REASON_PEER_FROZEN, kInfrastructure, "");
}

}  // namespace
}  // namespace assay::coordinator
