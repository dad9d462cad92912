#include "common/leading_rank.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(LeadingRank, IsTheOneThatAMessageBeginsWith) {
  for (const char* message : {"rank 12: no memory", "rank 12 has not answered", "rank 12"}) {
    const auto leading = LeadingRankOf(message);
    ASSERT_TRUE(leading) << message;
    EXPECT_EQ(leading->rank, 12);
    EXPECT_EQ(leading->end, 7U);
  }
  for (const char* message : {"", "rank", "rank ", "rank x: y", "rank -1: y", "ranks 1 and 2",
                              "no rank 1", "rank 99999999999999999999: y"}) {
    EXPECT_FALSE(LeadingRankOf(message)) << message;
  }
}

TEST(LeadingRank, OnlyItsOwnErrorIsMarkedByAColon) {
  EXPECT_EQ(ErringRankOf("rank 3: no memory")->rank, 3);
  for (const char* message : {"rank 3 has not answered", "rank 3", "rank 3:", "no memory"}) {
    EXPECT_FALSE(ErringRankOf(message)) << message;
  }
}

}  // namespace
}  // namespace assay
