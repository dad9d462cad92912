#include "cli/roofline_text.h"

#include <gmock/gmock.h>

namespace assay::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string TextOf(const std::string& name, v1::ResourceKind resource) {
  v1::BenchmarkSchema schema;
  schema.set_name(name);
  schema.set_resource(resource);
  return RooflineText(schema, {});
}

TEST(RooflineTextTest, GpusHaveSheetsAndPublishedFigures) {
  const std::string text = TextOf("gemm", v1::RESOURCE_KIND_GPU);
  EXPECT_THAT(text, HasSubstr("Roofline:  predicted = max(FLOPs / peak, "));
  EXPECT_THAT(text, HasSubstr("the GPU's spec sheet"));
  EXPECT_THAT(text, HasSubstr("marked R:  RTX 5080, RTX 5090, "));
  EXPECT_THAT(text, Not(HasSubstr("marked R:  H200")));
  EXPECT_THAT(text, HasSubstr("RTX 4090 "));
  EXPECT_THAT(text, HasSubstr("  m=8192 n=8192 k=8192 dtype=fp16 "));
  EXPECT_THAT(text, HasSubstr("  158.1 TFLOP/s  CUDA 13.0 "));
  EXPECT_THAT(text, HasSubstr("assay compare --published --filter 'benchmark=\"gemm\"'\n"));
}

TEST(RooflineTextTest, CpusHaveNeither) {
  const std::string text = TextOf("cpu_gemm", v1::RESOURCE_KIND_CPU);
  EXPECT_THAT(text, HasSubstr("ceilings that are measured beside the case"));
  EXPECT_THAT(text, Not(HasSubstr("marked R")));
  EXPECT_THAT(text, Not(HasSubstr("PUBLISHED")));
}

}  // namespace
}  // namespace assay::cli
