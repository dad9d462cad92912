#include "kernels/nccl/ring_schedule.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <vector>

namespace assay {
namespace {

// For each rank and chunk, which ranks' inputs its value holds.
using Holdings = std::vector<std::vector<std::multiset<int>>>;

// All ranks at once, as the ring does it: a message is what the sender holds before the step.
Holdings GoAround(int ranks, int direction) {
  const auto size = static_cast<size_t>(ranks);
  Holdings held(size, std::vector<std::multiset<int>>(size));
  for (size_t rank = 0; rank < size; ++rank) {
    for (auto& chunk : held[rank]) chunk = {static_cast<int>(rank)};
  }
  for (int step = 0; step < RingPlace{ranks}.steps(); ++step) {
    const Holdings before = held;
    for (int rank = 0; rank < ranks; ++rank) {
      const RingPlace place = {ranks, rank, direction};
      const RingPlace sender = {ranks, place.previous(), direction};
      const RingStep now = RingStepOf(place, step);
      EXPECT_EQ(sender.next(), rank);
      EXPECT_EQ(RingStepOf(sender, step).send, now.receive);
      const auto chunk = static_cast<size_t>(now.receive);
      const auto& message = before[static_cast<size_t>(sender.rank)][chunk];
      auto& mine = held[static_cast<size_t>(rank)][chunk];
      if (!now.reduces) mine.clear();
      mine.insert(message.begin(), message.end());
    }
  }
  return held;
}

TEST(RingScheduleTest, EveryRankEndsWithEachInputOnceInEveryChunk) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    std::multiset<int> all;
    for (int rank = 0; rank < ranks; ++rank) all.insert(rank);
    for (const int direction : {1, -1}) {
      for (const auto& chunks : GoAround(ranks, direction)) {
        for (const auto& chunk : chunks) EXPECT_EQ(chunk, all) << ranks << " ranks";
      }
    }
  }
}

TEST(RingScheduleTest, PartsCoverTheWholeAndBeginAtGranules) {
  for (const int64_t count : {0, 1, 3, 4, 17, 1000, 4096}) {
    for (const int parts : {1, 2, 3, 7}) {
      int64_t next = 8;
      for (int part = 0; part < parts; ++part) {
        const Piece piece = PartOf({8, count}, part, parts, 4);
        EXPECT_EQ(piece.first, next);
        EXPECT_TRUE(part + 1 == parts || piece.count % 4 == 0);
        next += piece.count;
      }
      EXPECT_EQ(next, 8 + count);
    }
  }
}

TEST(RingScheduleTest, PartsAreNearlyEqual) {
  for (int part = 0; part < 3; ++part) {
    const int64_t count = PartOf({0, 1000}, part, 3, 4).count;
    EXPECT_GE(count, 332);
    EXPECT_LE(count, 336);
  }
}

}  // namespace
}  // namespace assay
