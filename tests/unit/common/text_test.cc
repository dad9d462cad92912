#include "common/text.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Join, TakesAnyRangeOfStrings) {
  EXPECT_EQ(Join({}), "");
  EXPECT_EQ(Join({"a", "b"}), "a, b");
  EXPECT_EQ(Join({"", "b"}, "/"), "/b");
  EXPECT_EQ(Join(std::set<std::string_view>{"b", "a"}, "; "), "a; b");
}

TEST(JoinSome, NamesAtMostTheLimit) {
  EXPECT_EQ(JoinSome({}, 2), "");
  EXPECT_EQ(JoinSome({"a"}, 2), "a");
  EXPECT_EQ(JoinSome({"a", "b"}, 2), "a, b");
  EXPECT_EQ(JoinSome({"a", "b", "c"}, 2), "a, b, c");
  EXPECT_EQ(JoinSome({"a", "b", "c", "d"}, 2), "a, b and 2 more");
}

TEST(JoinSome, UnnamedParts_AreOnlyCounted) {
  EXPECT_EQ(JoinSome({"a", "b"}, 2, 1), "a, b and 1 more");
  EXPECT_EQ(JoinSome({"a", "b", "c"}, 2, 1), "a, b and 2 more");
}

TEST(RankList, DistinguishesOneFromSeveral) {
  EXPECT_EQ(RankList({"3"}), "rank 3");
  EXPECT_EQ(RankList({"0", "3"}), "ranks 0, 3");
}

TEST(EachRank, IsInNumericOrder) {
  EXPECT_EQ(EachRank({3, 1}), "rank 1, rank 3");
  std::set<int> many;
  for (int rank = 0; rank < 20; ++rank) many.insert(rank);
  EXPECT_TRUE(EachRank(many).ends_with(", rank 15 and 4 more"));
}

TEST(Counted, AddsTheEndingThatTheCountNeeds) {
  EXPECT_EQ(Counted(1, "node"), "1 node");
  EXPECT_EQ(Counted(0, "node"), "0 nodes");
  EXPECT_EQ(Counted(2, "match", "matches"), "2 matches");
  EXPECT_EQ(Plural(1, "is", "are"), "is");
}

TEST(Cut, KeepsWholeCharacters) {
  EXPECT_EQ(Cut("abc", 3), "abc");
  EXPECT_EQ(Cut("abcd", 3), "abc...");
  EXPECT_EQ(Cut("ab\u00e9d", 3), "ab...");
}

TEST(Quote, MakesControlCharactersVisibleAndCutsLongText) {
  EXPECT_EQ(Quote("gemm"), "\"gemm\"");
  EXPECT_EQ(Quote("a\x1b[1m"), "\"a\ufffd[1m\"");
  EXPECT_EQ(Quote("abcd", 3), "\"abc...\"");
}

TEST(ClosestName, OffersOnlySimilarNames) {
  EXPECT_EQ(ClosestName("gem", {"gemm", "all_reduce"}), "gemm");
  EXPECT_EQ(ClosestName("memory_bandwith", {"memory_bandwidth", "gemm"}), "memory_bandwidth");
  EXPECT_EQ(ClosestName("softmax", {"gemm", "all_reduce"}), "");
}

TEST(Suggest, OffersTheSimilarNameElseTheList) {
  EXPECT_EQ(Suggest("gem", {"gemm", "all_reduce"}), "did you mean \"gemm\"?");
  EXPECT_EQ(Suggest("softmax", {"gemm", "all_reduce"}), "use one of gemm, all_reduce");
  EXPECT_EQ(Suggest("softmax", {"gemm"}), "use gemm");
  EXPECT_EQ(Suggest("softmax", {}), "there are none");
}

std::string Difference(const std::vector<std::string>& values) {
  return DifferenceText("NCCL", values,
                        [](const std::string& value, const std::vector<size_t>& positions) {
                          std::string text = value + " at";
                          for (const size_t one : positions) text += " " + std::to_string(one);
                          return text;
                        });
}

TEST(DifferenceText, GroupsPositionsByValue) {
  EXPECT_EQ(Difference({"2.9", "2.7", "2.9", "2.8", "2.7"}),
            "NCCL is 2.9 at 0 2 and 2.7 at 1 4 and 2.8 at 3");
}

TEST(DifferenceText, EqualValues_GiveNoText) {
  EXPECT_EQ(Difference({"2.9", "2.9"}), "");
  EXPECT_EQ(Difference({"2.9"}), "");
  EXPECT_EQ(Difference({}), "");
}

TEST(Split, KeepsEmptyPiecesAndTheRest) {
  EXPECT_EQ(Join(Split("a,,b", ','), "|"), "a||b");
  EXPECT_EQ(Join(Split("a,b,c", ',', 2), "|"), "a|b,c");
  EXPECT_EQ(Split("", ',').size(), 1U);
}

TEST(IsPlainText, AcceptsUtf8) {
  for (const char* text : {"", "node-a", "K\u00f6ln, Halle 2", "\U0001F680"}) {
    EXPECT_TRUE(IsPlainText(text)) << text;
  }
}

TEST(IsPlainText, RefusesControlCharactersAndMalformedBytes) {
  for (const char* text : {"a\n", "\t", "\x1b[1m", "\x7f", "\xc2\x85", "\xff", "a\xc3", "\xc0\xaf",
                           "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_FALSE(IsPlainText(text)) << text;
  }
  EXPECT_FALSE(IsPlainText(std::string_view("a\0b", 3)));
}

TEST(Sanitize, ReplacesWhatIsNotPrintable) {
  EXPECT_EQ(Sanitize("a\x1b[2Jb\nc"), "a\ufffd[2Jb\ufffdc");
  EXPECT_EQ(Sanitize("\xc0\xaf"), "\ufffd\ufffd");            // Overlong.
  EXPECT_EQ(Sanitize("\xed\xa0\x80"), "\ufffd\ufffd\ufffd");  // A surrogate.
  EXPECT_EQ(Sanitize("\xe2\x82"), "\ufffd\ufffd");            // Truncated.
  EXPECT_EQ(Sanitize("x\u202ey"), "x\ufffdy");                // Reorders the text after it.
}

}  // namespace
}  // namespace assay
