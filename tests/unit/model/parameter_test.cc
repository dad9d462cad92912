#include "model/parameter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace assay {
namespace {

std::vector<ParameterSpec> GemmLike() {
  return {
      {"m", ParameterType::kInteger, "rows", std::nullopt, 1, 65536, {}},
      {"bytes", ParameterType::kBytes, "size", "1048576", 8, int64_t{8} << 30, {}},
      {"dtype", ParameterType::kWord, "type", "bf16", {}, {}, {"bf16", "fp16"}},
      {"graph", ParameterType::kBoolean, "replay", "false", {}, {}, {}},
  };
}

TEST(CanonicalParameters, FillsDefaultsAndNormalises) {
  const auto canonical = CanonicalParameters(GemmLike(), {{"m", "4096"}, {"bytes", "1GiB"}});
  ASSERT_TRUE(canonical.ok()) << canonical.status();
  EXPECT_EQ(*canonical,
            (ParameterMap{
                {"m", "4096"}, {"bytes", "1073741824"}, {"dtype", "bf16"}, {"graph", "false"}}));
}

TEST(CanonicalParameters, NamesEveryFaultAtOnce) {
  const auto canonical =
      CanonicalParameters(GemmLike(), {{"dtyp", "bf16"}, {"m", "0"}, {"dtype", "bf17"}});
  ASSERT_FALSE(canonical.ok());
  EXPECT_THAT(canonical.status().ToString(),
              testing::AllOf(testing::HasSubstr("did you mean \"dtype\"?"),
                             testing::HasSubstr("m: \"0\" is not a whole number from 1 to 65536"),
                             testing::HasSubstr("\"bf17\" is not one of bf16, fp16")));
}

TEST(CanonicalParameters, SaysWhatIsMissing) {
  const auto canonical = CanonicalParameters(GemmLike(), {});
  ASSERT_FALSE(canonical.ok());
  ASSERT_EQ(canonical.status().violations().size(), 1u);
  EXPECT_EQ(canonical.status().violations()[0].field, "m");
}

// A number that is below `b` and a multiple of 2 and of what parameter `of` asks for.
ParameterSpec Tied(const std::string& of) {
  ParameterSpec spec = {"a", ParameterType::kInteger, "tied", std::nullopt, 0, 1000, {}};
  spec.below = "b";
  spec.multiple_of = {2, of, {}};
  if (of == "w") spec.multiple_of.of_words = {{"six", 6}, {"none", 0}};
  return spec;
}

TEST(BrokenTie, SaysWhatWouldBeRight) {
  EXPECT_EQ(BrokenTie(Tied("c"), {{"a", "6"}, {"b", "7"}, {"c", "3"}}), "");
  EXPECT_EQ(BrokenTie(Tied("c"), {{"a", "0"}, {"b", "7"}, {"c", "3"}}), "");
  EXPECT_EQ(BrokenTie(Tied("c"), {{"a", "7"}, {"b", "7"}}),
            "is 7; it must be below b, which is 7: 0 to 6");
  EXPECT_EQ(BrokenTie(Tied("c"), {{"a", "0"}, {"b", "0"}}), "is 0; it must be below b, which is 0");
  EXPECT_EQ(BrokenTie(Tied("c"), {{"a", "7"}}), "is 7; it must be a multiple of 2");
  EXPECT_EQ(BrokenTie(Tied("c"), {{"a", "8"}, {"c", "3"}}),
            "is 8; it must be a multiple of c, which is 3");
  EXPECT_EQ(BrokenTie(Tied("w"), {{"a", "8"}, {"w", "six"}}),
            "is 8; it must be a multiple of 6 with w six");
  EXPECT_EQ(BrokenTie(Tied("w"), {{"a", "8"}, {"w", "other"}}), "");
}

// A peer's schema is checked before; nothing here divides by what it says.
TEST(BrokenTie, NothingIsDividedByZero) {
  for (const char* number : {"0", "-3", "x", "9223372036854775808"}) {
    EXPECT_EQ(BrokenTie(Tied("c"), {{"a", "8"}, {"c", number}}), "") << number;
  }
  EXPECT_EQ(BrokenTie(Tied("w"), {{"a", "8"}, {"w", "none"}}), "");
  ParameterSpec least = Tied("c");
  least.minimum = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(BrokenTie(least, {{"a", "8"}, {"b", "-9223372036854775808"}}),
            "is 8; it must be below b, which is -9223372036854775808");
  least.multiple_of.number = -1;
  EXPECT_EQ(BrokenTie(least, {{"a", "-9223372036854775808"}}), "");
}

// A word that is "nt" with w six, or with w seven and c 3; never "tt".
ParameterSpec Limited() {
  ParameterSpec spec = {"a", ParameterType::kWord, "limited", std::nullopt, {}, {}, {}};
  spec.words = {"nn", "nt", "tt"};
  spec.limits = {{.when = {{"w", {"six"}}}, .values = {"nt"}, .why = "it is"},
                 {.when = {{"w", {"seven"}}, {"c", {"3", "4"}}}, .values = {"nt"}},
                 {.values = {"nn", "nt"}}};
  return spec;
}

TEST(BrokenTie, WordsExcludeEachOther) {
  const auto with = [](const char* a, const char* w, const char* c) {
    return BrokenTie(Limited(), {{"a", a}, {"w", w}, {"c", c}});
  };
  EXPECT_EQ(with("nt", "six", "3"), "");
  EXPECT_EQ(with("nn", "six", "3"), "is nn; it must be nt with w six: it is");
  EXPECT_EQ(with("nn", "seven", "3"), "is nn; it must be nt with c 3 and w seven");
  EXPECT_EQ(with("nn", "seven", "5"), "");
  EXPECT_EQ(with("nn", "eight", "3"), "");
  EXPECT_EQ(with("tt", "eight", "3"), "is tt; it must be nn or nt");
  // What the case lacks asks for nothing.
  EXPECT_EQ(BrokenTie(Limited(), {{"a", "nn"}, {"w", "seven"}}), "");
  EXPECT_EQ(BrokenTie(Limited(), {{"w", "six"}}), "");
}

TEST(BrokenTie, BoundsThatOthersSet) {
  ParameterSpec spec = Tied("");
  spec.multiple_of = {};
  spec.limits = {{.when = {{"w", {"six"}}}, .minimum = 5, .maximum = 32},
                 {.when = {{"w", {"all"}}}, .minimum = 16, .minimum_per = "c"}};
  const auto with = [&](const char* a, const char* w, const char* c) {
    return BrokenTie(spec, {{"a", a}, {"w", w}, {"c", c}});
  };
  EXPECT_EQ(with("5", "six", "3"), "");
  EXPECT_EQ(with("32", "six", "3"), "");
  EXPECT_EQ(with("4", "six", "3"), "is 4; it must be at least 5 with w six");
  EXPECT_EQ(with("33", "six", "3"), "is 33; it must be at most 32 with w six");
  EXPECT_EQ(with("48", "all", "3"), "");
  EXPECT_EQ(with("47", "all", "3"), "is 47; it must be at least 48 (16 times c) with w all");
  EXPECT_EQ(with("47", "all", "x"), "");
  EXPECT_EQ(with("47", "all", "9223372036854775807"),
            "is 47; it must be at least 9223372036854775807 (16 times c) with w all");
}

TEST(BrokenTie, ProductsThatAreTooLarge) {
  ParameterSpec spec = Tied("");
  spec.multiple_of = {};
  spec.limits = {{.why = "too many to verify", .maximum = 24, .times = {"a", "c"}}};
  const auto with = [&](const char* a, const char* c) {
    return BrokenTie(spec, {{"a", a}, {"c", c}});
  };
  EXPECT_EQ(with("2", "6"), "");
  EXPECT_EQ(with("2", "7"), "is 2; times a and c it must be at most 24: too many to verify");
  EXPECT_EQ(with("3", "9223372036854775807"),
            "is 3; times a and c it must be at most 24: too many to verify");
  EXPECT_EQ(BrokenTie(spec, {{"a", "9"}}), "");
}

TEST(LimitTexts, TellWhatOthersAskFor) {
  EXPECT_THAT(
      LimitTexts(Limited()),
      testing::ElementsAre("nt with w six: it is", "nt with c 3 or 4 and w seven", "nn or nt"));
  ParameterSpec size = {"a", ParameterType::kBytes, "size", std::nullopt, 1, 4096, {}};
  size.multiple_of = {1, "w", {{"half", 2}, {"bfloat", 2}, {"byte", 1}, {"word", 4}}};
  size.limits = {{.minimum = 16, .minimum_per = "c"},
                 {.when = {{"w", {"l1", "shared"}}}, .maximum = 1024},
                 {.maximum = 24, .times = {"b", "c"}}};
  EXPECT_THAT(
      LimitTexts(size),
      testing::ElementsAre("a multiple of 2B with w bfloat or half", "a multiple of 4B with w word",
                           "at least 16B times c", "at most 1KiB with w l1 or shared",
                           "times b and c at most 24B"));
  EXPECT_THAT(LimitTexts(Tied("")), testing::IsEmpty());
}

TEST(CanonicalParameters, HoldsValuesToWhatTiesThem) {
  std::vector<ParameterSpec> specs = GemmLike();
  specs[0].below = "bytes";
  specs[1].multiple_of.number = 8;
  EXPECT_TRUE(CanonicalParameters(specs, {{"m", "7"}, {"bytes", "8"}}).ok());
  const Status both = CanonicalParameters(specs, {{"m", "12"}, {"bytes", "12"}}).status();
  EXPECT_EQ(both.message(),
            "invalid parameters: m: is 12; it must be below bytes, which is 12: 1 to 11");
  ASSERT_EQ(both.violations().size(), 2u);
  EXPECT_EQ(both.violations()[1].field, "bytes");
  EXPECT_EQ(both.violations()[1].description, "is 12; it must be a multiple of 8");
  // A value that is wrong by itself is told alone.
  const Status wrong = CanonicalParameters(specs, {{"m", "0"}, {"bytes", "12"}}).status();
  EXPECT_EQ(wrong.violations().size(), 1u) << wrong;
}

TEST(AllowedValues, TellWhatTiesANumber) {
  EXPECT_EQ(AllowedValues(Tied("")), "a whole number from 0 to 1000, below b, a multiple of 2");
  EXPECT_EQ(AllowedValues(Tied("c")),
            "a whole number from 0 to 1000, below b, a multiple of 2 and of c");
  ParameterSpec words = Tied("w");
  words.multiple_of.number = 1;
  words.below = "";
  EXPECT_EQ(AllowedValues(words), "a whole number from 0 to 1000, a multiple of what w asks for");
}

TEST(CanonicalValue, NamesTheShortWordOfATypeThatIsSpelledOut) {
  const ParameterSpec dtype = GemmLike()[2];
  EXPECT_EQ(CanonicalValue(dtype, "bfloat16").status().message(),
            "\"bfloat16\" is not one of bf16, fp16; did you mean \"bf16\"?");
  // Only what this benchmark has.
  EXPECT_EQ(CanonicalValue(dtype, "float32").status().message(),
            "\"float32\" is not one of bf16, fp16");
}

TEST(CanonicalValue, ABoundOfOneNumberIsThatNumber) {
  ParameterSpec ranks = GemmLike()[0];
  ranks.minimum = ranks.maximum = 2;
  EXPECT_EQ(CanonicalValue(ranks, "3").status().message(), "\"3\" is not 2");
  EXPECT_TRUE(CanonicalValue(ranks, "2").ok());
  ParameterSpec bytes = GemmLike()[1];
  bytes.minimum = bytes.maximum = 1 << 20;
  EXPECT_EQ(AllowedValues(bytes), "1MiB");
}

TEST(CanonicalValue, BoundsAreInclusive) {
  const ParameterSpec bytes = GemmLike()[1];
  EXPECT_TRUE(CanonicalValue(bytes, "8").ok());
  EXPECT_TRUE(CanonicalValue(bytes, "8GiB").ok());
  EXPECT_FALSE(CanonicalValue(bytes, "7").ok());
  EXPECT_FALSE(CanonicalValue(bytes, "8589934593").ok());
}

TEST(ClosestName, OffersOnlyNearNames) {
  EXPECT_EQ(ClosestName("gem", {"gemm", "all_reduce"}), "gemm");
  EXPECT_EQ(ClosestName("memory_bandwith", {"memory_bandwidth", "gemm"}), "memory_bandwidth");
  EXPECT_EQ(ClosestName("softmax", {"gemm", "all_reduce"}), "");
}

}  // namespace
}  // namespace assay
