#include "model/filter.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/wording.h"

namespace assay {
namespace {

Result<std::vector<std::string>> Lookup(const std::string& field) {
  static const std::map<std::string, std::vector<std::string>> kNode = {
      {"name", {"node-7"}},
      {"gpu.model", {"H200", "RTX 4090"}},
      {"driver", {"580.95.05"}},
      {"label.rack", {"r7"}},
      {"label.zone", {}},
      {"memory", {"64"}},
      {"price", {FilterNumber(2.49)}},
      {"note", {"it's \"5\" \\ 6"}}};
  const auto it = kNode.find(field);
  if (it == kNode.end()) return InvalidArgument("no field " + field);
  return it->second;
}

bool Holds(std::string_view text) {
  const auto filter = ParseFilter(text);
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.status();
  if (!filter.ok()) return false;
  const auto matches = Matches(*filter, Lookup);
  EXPECT_TRUE(matches.ok()) << text << ": " << matches.status();
  return matches.ok() && *matches;
}

TEST(Filter, MatchesRestrictions) {
  for (const char* yes : {"",
                          "  ",
                          R"(gpu.model = "H200")",
                          "gpu.model=H200",
                          "GPU.Model = 'RTX 4090'",
                          "name = node*",
                          "name=*7",
                          "name = *ode*",
                          "name = *",
                          "name : ode",
                          "label.rack:*",
                          "gpu.model != B200",
                          "-gpu.model = B200",
                          "NOT gpu.model = B200",
                          "label.zone != a",
                          R"(driver >= "580")",
                          "driver < 580.105",
                          "driver > 580.95",
                          "memory >= 8",
                          "price < 2.5",
                          "price > 2.4",
                          "price > -1",
                          "memory = 64.0e0",
                          "name in (x, node-7)",
                          "gpu.model in(\"RTX 4090\")",
                          "NOT name IN ( 'x' , y ) memory in (64)",
                          "label.rack in (r*)",
                          R"(note = "it's \"5\" \\ 6")"}) {
    EXPECT_TRUE(Holds(yes)) << yes;
  }
  for (const char* no : {"gpu.model = h200", "gpu.model != H200", "label.zone:*", "label.zone = a",
                         "driver >= 580.105", "memory < 8", "price > 2.5", "name = 7*",
                         "label.zone < z", "NOT name = node-7", "name in (x, y)",
                         "NOT name in (x, node-7)", "name in (node-7) AND memory=1"}) {
    EXPECT_FALSE(Holds(no)) << no;
  }
}

TEST(Filter, CombinesWithOrBindingTighterThanAnd) {
  EXPECT_TRUE(Holds("name=node-7 memory=64"));
  EXPECT_TRUE(Holds("name=x OR memory=64 AND name=node-7"));
  EXPECT_FALSE(Holds("name=node-7 OR memory=64 AND name=x"));
  EXPECT_TRUE(Holds("name=node-7 OR (memory=64 AND name=x)"));
  EXPECT_TRUE(Holds("NOT (name=x OR memory=1) AND -(name=y)"));
}

TEST(Filter, UnknownFieldIsAnErrorWhereverItStands) {
  for (const char* text : {"nope=1", "name=node-7 OR nope=1", "name=x AND nope=1"}) {
    EXPECT_FALSE(Matches(*ParseFilter(text), Lookup).ok()) << text;
  }
}

TEST(Filter, ErrorsSayWhereAndWhat) {
  std::string text;
  for (const char* bad : {"gpu.model", "a = ",
                          "a = 1 )",   "(a = 1",
                          "a = \"x",   "a == 1",
                          "= 1",       "a=1 AND",
                          "a=1 OR",    "AND a=1",
                          "é=1",       "\"é\" a",
                          "a=é b",     "a, b",
                          "a in",      "a in b",
                          "a in ()",   "a in (b",
                          "a in (b,)", "a in (b c)",
                          "in in (in", "((((((((((((((((((((((((((((((((a=1"}) {
    const Status error = ParseFilter(bad).status();
    EXPECT_EQ(error.reason(), Reason::kBadFilter) << bad;
    text += std::string(bad) + "\n  " + error.message() + "\n";
  }
  EXPECT_WORDING("model/filter", text);
}

TEST(Filter, HintsAtQuotesForValuesThatNeedThem) {
  std::string text;
  for (const char* bad : {"a = Ring,Tree", "(a = x,y,z) AND b = 1", "a = ^=eth0"}) {
    text += ParseFilter(bad).status().ToString() + "\n";
  }
  EXPECT_WORDING("model/filter-quotes", text);
  EXPECT_EQ(ParseFilter("a = \"Ring,Tree\"")->value, "Ring,Tree");
  EXPECT_EQ(ParseFilter("a = ^Tree")->value, "^Tree");
}

TEST(Filter, BoundsHostileInput) {
  const auto deep = ParseFilter(std::string(5000, '(') + "a=1" + std::string(5000, ')'));
  EXPECT_EQ(deep.status().reason(), Reason::kBadFilter);
  EXPECT_FALSE(ParseFilter(std::string(kMaxFilterBytes + 1, ' ')).ok());
  EXPECT_FALSE(ParseFilter(std::string("a=\0b", 4)).ok());
  EXPECT_FALSE(ParseFilter("a=\xff").ok());
  EXPECT_FALSE(ParseFilter("a=\xed\xa0\x80").ok());
  EXPECT_FALSE(ParseFilter("a=\xc0\xaf").ok());
  EXPECT_FALSE(ParseFilter("------a=1").ok());
}

TEST(Filter, RandomTextNeverCrashes) {
  static constexpr std::string_view kPieces[] = {"a",  "=",    "(",   ")",    " ",  "\"",
                                                 "-",  "AND ", "OR ", "NOT ", ":",  "*",
                                                 "\\", "é",    "<",   "1.5",  "in", ","};
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (unsigned n = random() % 24; n > 0; --n) text += kPieces[random() % std::size(kPieces)];
    const auto filter = ParseFilter(text);
    if (!filter.ok()) EXPECT_EQ(filter.status().code(), Code::kInvalidArgument) << text;
    if (filter.ok()) (void)Matches(*filter, Lookup);
  }
}

TEST(Filter, MentionsLooksEverywhere) {
  const auto filter = ParseFilter("a=1 AND (b=2 OR NOT c.d=3)");
  EXPECT_TRUE(Mentions(*filter, "c.d"));
  EXPECT_FALSE(Mentions(*filter, "c"));
}

TEST(CompareValues, OrdersVersionsNumbersAndText) {
  EXPECT_LT(CompareValues("580.95", "580.105"), 0);
  EXPECT_LE(CompareValues("580", "580.95"), 0);
  EXPECT_LT(CompareValues("9", "10"), 0);
  EXPECT_LT(CompareValues("-2.5", "-2.49"), 0);
  EXPECT_EQ(CompareValues("1e3", "1000"), 0);
  EXPECT_EQ(CompareValues("007", "7"), 0);
  EXPECT_LT(CompareValues("10a", "9a"), 0);
  EXPECT_LT(CompareValues("", "a"), 0);
  EXPECT_LT(CompareValues("999999999999999999", "9999999999999999999"), 0);
  EXPECT_LT(*CompareNumbers("9", "1e1"), 0);
  EXPECT_GT(*CompareNumbers("580.105", "580.95"), 0);
  for (const char* text : {"", "fp32", "1MiB", "0x10", "6.8.0-45-generic"}) {
    EXPECT_EQ(CompareNumbers(text, "10"), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace assay
