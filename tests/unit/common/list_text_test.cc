#include "common/list_text.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(JoinSome, NamesAsManyAsFit) {
  EXPECT_EQ(JoinSome({}, 2), "");
  EXPECT_EQ(JoinSome({"a"}, 2), "a");
  EXPECT_EQ(JoinSome({"a", "b"}, 2), "a, b");
  EXPECT_EQ(JoinSome({"a", "b", "c"}, 2), "a, b, c");
  EXPECT_EQ(JoinSome({"a", "b", "c", "d"}, 2), "a, b and 2 more");
  // Nobody knows the names of the others.
  EXPECT_EQ(JoinSome({"a", "b"}, 2, 1), "a, b and 1 more");
  EXPECT_EQ(JoinSome({"a", "b", "c"}, 2, 1), "a, b and 2 more");
}

TEST(RankList, SaysOneOrSeveral) {
  EXPECT_EQ(RankList({"3"}), "rank 3");
  EXPECT_EQ(RankList({"0", "3"}), "ranks 0, 3");
}

TEST(EachRank, NamesThemInOrder) {
  EXPECT_EQ(EachRank({3, 1}), "rank 1, rank 3");
  std::set<int> many;
  for (int rank = 0; rank < 20; ++rank) many.insert(rank);
  EXPECT_TRUE(EachRank(many).ends_with(", rank 15 and 4 more"));
}

}  // namespace
}  // namespace assay
