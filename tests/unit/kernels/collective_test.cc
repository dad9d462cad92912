#include "kernels/nccl/collective.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace assay {
namespace {

// A collective run on the host: every rank's output from everyone's inputs, as the
// declaration says. Input element i of rank r is 1000 r + i.
std::vector<int64_t> OutputOf(const Collective& collective, const CollectivePlace& place) {
  std::vector<int64_t> output(static_cast<size_t>(collective.output_count(place)), -1);
  for (const OutputBlock& block : collective.output(place)) {
    for (int64_t i = 0; i < block.count; ++i) {
      int64_t value = 0;
      for (int rank = 0; rank < place.ranks; ++rank) {
        if (block.source != kAllRanks && block.source != rank) continue;
        value += 1000 * rank + block.source_first + i;
      }
      output[static_cast<size_t>(block.first + i)] = value;
    }
  }
  return output;
}

using Values = std::vector<int64_t>;

// Three ranks, root 1, two elements a share.
Values OnThreeRanks(CollectiveKind kind, int rank) {
  return OutputOf(CollectiveOf(kind), {3, rank, 1, 2});
}

TEST(CollectiveTest, OutputsAreThoseOfTheStandard) {
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kAllReduce, 2), (Values{3000, 3003}));
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kAllGather, 2), (Values{0, 1, 1000, 1001, 2000, 2001}));
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kReduceScatter, 2), (Values{3012, 3015}));
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kBroadcast, 2), (Values{1000, 1001}));
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kReduce, 1), (Values{3000, 3003}));
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kReduce, 2), Values());
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kAllToAll, 2), (Values{4, 5, 1004, 1005, 2004, 2005}));
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kGather, 1), (Values{0, 1, 1000, 1001, 2000, 2001}));
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kGather, 0), Values());
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kScatter, 2), (Values{1004, 1005}));
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kSendRecv, 2), (Values{1000, 1001}));
  EXPECT_EQ(OnThreeRanks(CollectiveKind::kSendRecv, 0), (Values{2000, 2001}));
}

TEST(CollectiveTest, BlocksCoverTheOutputAndStayWithinInputs) {
  for (const Collective& collective : Collectives()) {
    for (int ranks = 2; ranks <= 9; ++ranks) {
      for (int rank = 0; rank < ranks; ++rank) {
        const CollectivePlace place = {ranks, rank, ranks - 1, 5};
        for (const int64_t value : OutputOf(collective, place)) {
          ASSERT_NE(value, -1) << collective.name;
        }
        for (const OutputBlock& block : collective.output(place)) {
          const int source = block.source == kAllRanks ? 0 : block.source;
          const CollectivePlace theirs = {ranks, source, ranks - 1, 5};
          EXPECT_LE(block.source_first + block.count, collective.input_count(theirs))
              << collective.name;
        }
      }
    }
  }
}

// As doc/PERFORMANCE.md of nccl-tests has them, for 4 ranks.
TEST(CollectiveTest, BusFactors) {
  const std::map<std::string, double> expected = {
      {"all_reduce", 1.5}, {"all_gather", 0.75}, {"reduce_scatter", 0.75},
      {"broadcast", 1},    {"reduce", 1},        {"all_to_all", 0.75},
      {"gather", 0.75},    {"scatter", 0.75},    {"send_recv", 1},
  };
  ASSERT_EQ(Collectives().size(), expected.size());
  for (const Collective& collective : Collectives()) {
    EXPECT_DOUBLE_EQ(collective.bus_factor(4), expected.at(collective.name)) << collective.name;
  }
}

TEST(CollectiveTest, SharesRoundDownTo16BytesPerRank) {
  const Collective& gather = CollectiveOf(CollectiveKind::kAllGather);
  EXPECT_EQ(CountOf(gather, 1000, 4, 3), 332 / 16 * 16 / 4);
  EXPECT_EQ(PayloadBytes(gather, 80, 4, 3), 960);
  EXPECT_EQ(CountOf(gather, 48, 8, 3), 2);
}

TEST(CollectiveTest, UndividedArraysAreWholeOnEveryRank) {
  const Collective& reduce = CollectiveOf(CollectiveKind::kAllReduce);
  EXPECT_EQ(CountOf(reduce, 8, 8, 3), 1);
  EXPECT_EQ(PayloadBytes(reduce, 10, 4, 3), 40);
}

TEST(CollectiveTest, InPlaceOffsetsAreThoseOfNccl) {
  const CollectivePlace place = {4, 2, 2, 10};
  EXPECT_EQ(CollectiveOf(CollectiveKind::kAllGather).input_at(place), 20);
  EXPECT_EQ(CollectiveOf(CollectiveKind::kReduceScatter).output_at(place), 20);
  EXPECT_EQ(CollectiveOf(CollectiveKind::kGather).input_at(place), 20);
  EXPECT_EQ(CollectiveOf(CollectiveKind::kScatter).output_at(place), 20);
  const CollectivePlace other = {4, 1, 2, 10};
  EXPECT_EQ(CollectiveOf(CollectiveKind::kGather).input_at(other), 0);
  EXPECT_EQ(CollectiveOf(CollectiveKind::kScatter).output_at(other), 0);
  EXPECT_NE(CollectiveOf(CollectiveKind::kAllToAll).not_in_place, nullptr);
}

TEST(CollectiveTest, WireFactorsOfKnownAlgorithms) {
  const Collective& reduce = CollectiveOf(CollectiveKind::kAllReduce);
  EXPECT_DOUBLE_EQ(WireFactor(reduce, "RING", "SIMPLE", 4), 1.5);
  EXPECT_DOUBLE_EQ(WireFactor(reduce, "TREE", "LL", 4), 3);
  EXPECT_DOUBLE_EQ(WireFactor(reduce, "RING", "LL128", 4), 1.6);
  EXPECT_DOUBLE_EQ(WireFactor(reduce, "NVLS", "SIMPLE", 4), 0);
  EXPECT_DOUBLE_EQ(WireFactor(reduce, "RING", "", 4), 0);
  EXPECT_DOUBLE_EQ(WireFactor(CollectiveOf(CollectiveKind::kSendRecv), "P2P", "", 4), 1);
}

}  // namespace
}  // namespace assay
