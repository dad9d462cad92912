// What sustained declares. That its GEMM is right, the self-test shows on a GPU.
#include <gtest/gtest.h>

#include <string>

#include "kernels/registry.h"

namespace assay {
namespace {

// Of an iteration with parameters as users give them.
Result<Work> WorkGiven(const ParameterMap& given) {
  ASSAY_ASSIGN_OR_RETURN(const Benchmark* const sustained, BuiltinBenchmarks().Find("sustained"));
  ASSAY_ASSIGN_OR_RETURN(const ParameterMap parameters,
                         CanonicalParameters(sustained->Info().parameters, given));
  return sustained->WorkOf(parameters, 1);
}

// It has no k, of which the rule of a GEMM speaks.
TEST(Sustained, TellsTheRuleOfNarrowTypesByItsOwnParameter) {
  const auto says = [](const char* dtype, const char* n) {
    return WorkGiven({{"dtype", dtype}, {"n", n}}).status().message();
  };
  EXPECT_EQ(says("fp8_e4m3", "8200"), "fp8_e4m3 needs n to be a multiple of 16; it is 8200");
  EXPECT_EQ(says("fp8_e5m2", "17"), "fp8_e5m2 needs n to be a multiple of 16; it is 17");
  EXPECT_EQ(says("int8", "8198"), "int8 needs n to be a multiple of 4; it is 8198");
  EXPECT_EQ(says("fp8_e4m3", "8208"), "");
  EXPECT_EQ(says("int8", "8196"), "");
  EXPECT_EQ(says("bf16", "8191"), "");
}

}  // namespace
}  // namespace assay
