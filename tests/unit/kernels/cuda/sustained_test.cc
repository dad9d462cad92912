// What sustained declares. That its GEMM is right, the self-test shows on a GPU.
#include <gtest/gtest.h>

#include <string>

#include "kernels/registry.h"

namespace assay {
namespace {

// Of an iteration with parameters as users give them.
Result<Work> WorkGiven(const ParameterMap& given) {
  ASSAY_ASSIGN_OR_RETURN(const Benchmark* const sustained, BuiltinBenchmarks().Find("sustained"));
  ASSAY_ASSIGN_OR_RETURN(const ParameterMap parameters, CheckParameters(*sustained, given));
  return sustained->WorkOf(parameters, 1);
}

TEST(Sustained, HoldsNToWhatNarrowTypesTake) {
  const auto says = [](const char* dtype, const char* n) {
    return WorkGiven({{"dtype", dtype}, {"n", n}}).status().message();
  };
  const std::string start = "invalid parameters: n: is ";
  EXPECT_EQ(says("fp8_e4m3", "8200"),
            start + "8200; it must be a multiple of 16 with dtype fp8_e4m3");
  EXPECT_EQ(says("fp8_e5m2", "17"), start + "17; it must be a multiple of 16 with dtype fp8_e5m2");
  EXPECT_EQ(says("int8", "8198"), start + "8198; it must be a multiple of 4 with dtype int8");
  EXPECT_EQ(says("fp8_e4m3", "8208"), "");
  EXPECT_EQ(says("int8", "8196"), "");
  EXPECT_EQ(says("bf16", "8191"), "");
}

}  // namespace
}  // namespace assay
