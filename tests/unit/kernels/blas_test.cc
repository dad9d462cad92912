#include "kernels/cpu/blas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Blas, FallbackCoreIsReplaced) {
  EXPECT_EQ(BlasCoreInstead("Prescott", "SkylakeX"), "SkylakeX");
  EXPECT_EQ(BlasCoreInstead("Nehalem", "Haswell"), "Haswell");
  EXPECT_EQ(BlasCoreInstead("Barcelona", "Haswell"), "Haswell");
  // Its own choice, and a CPU that is as old.
  EXPECT_EQ(BlasCoreInstead("Cooperlake", "SkylakeX"), "");
  EXPECT_EQ(BlasCoreInstead("Zen", "Haswell"), "");
  EXPECT_EQ(BlasCoreInstead("Prescott", ""), "");
}

TEST(Blas, VersionNamesTheCore) {
  if (!WhyNoBlas().empty()) GTEST_SKIP() << WhyNoBlas();
  EXPECT_THAT(BlasVersion().value_or(""),
              testing::MatchesRegex("OpenBLAS [0-9]+\\.[0-9]+[^ ]* [A-Za-z0-9]+"));
}

}  // namespace
}  // namespace assay
