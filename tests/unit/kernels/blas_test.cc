#include "kernels/cpu/blas.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

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
  std::istringstream words(BlasVersion().value_or(""));
  std::string library;
  double version = 0;
  std::string rest_of_version;
  std::string core;
  words >> library >> version >> rest_of_version >> core;
  EXPECT_EQ(library, "OpenBLAS");
  EXPECT_GT(version, 0);
  EXPECT_FALSE(core.empty());
}

}  // namespace
}  // namespace assay
