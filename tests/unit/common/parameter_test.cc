#include "common/parameter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
