#include "cli/views/roofline_text.h"

#include <gmock/gmock.h>

#include <set>
#include <string>

#include "roofline/published.h"

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

// A launch has no roofline, and a latency no prediction at all.
TEST(RooflineTextTest, WhatABenchmarkSaysItselfStandsThere) {
  v1::BenchmarkSchema schema;
  schema.set_name("launch_overhead");
  schema.set_resource(v1::RESOURCE_KIND_GPU);
  schema.set_prediction("predicted = launches x 2.5 us");
  std::string text = RooflineText(schema, {});
  EXPECT_THAT(text, HasSubstr("Prediction:  predicted = launches x 2.5 us\n"));
  EXPECT_THAT(text, Not(HasSubstr("max(FLOPs")));
  EXPECT_THAT(text, HasSubstr("marked R:  "));
  schema.set_prediction("none: no spec sheet gives the latency of a load");
  text = RooflineText(schema, {});
  EXPECT_THAT(text, HasSubstr("Prediction:  none: no spec sheet gives the latency of a load\n"));
  EXPECT_THAT(text, Not(HasSubstr("marked R")));
}

TEST(RooflineTextTest, FiguresOfOneCaseAreToldApart) {
  const std::string text = TextOf("attention", v1::RESOURCE_KIND_GPU);
  EXPECT_THAT(text, HasSubstr("  599.0 TFLOP/s  CUDA 13.0 driver 580.159.04  "
                              "bf16 b=4 h=16 d=128 n=4096 cuDNN; PyTorch SDPA\n"));
  EXPECT_THAT(text, HasSubstr("bf16 b=4 h=16 d=128 n=4096 FlashAttention-2; PyTorch SDPA\n"));
}

// Of two figures that print alike but for the value nobody knows which is meant.
TEST(RooflineTextTest, NoTwoPublishedFiguresPrintAlike) {
  std::set<std::string> rows;
  for (const PublishedFigure& figure : PublishedFigures()) {
    const std::string row = std::to_string(figure.gpu_count) + "x " + figure.gpu + " " +
                            figure.benchmark + " " + figure.case_text + " " + figure.metric + " " +
                            figure.software + " " + figure.Description();
    EXPECT_TRUE(rows.insert(row).second) << row;
  }
}

TEST(RooflineTextTest, NetworksHaveTheFittedModelAlone) {
  const std::string text = TextOf("tcp_bandwidth", v1::RESOURCE_KIND_NETWORK);
  EXPECT_THAT(text, HasSubstr("Prediction:  none: no spec sheet tells of the network"));
  EXPECT_THAT(text, Not(HasSubstr("Roofline")));
}

TEST(RooflineTextTest, CpusHaveNeither) {
  const std::string text = TextOf("cpu_gemm", v1::RESOURCE_KIND_CPU);
  EXPECT_THAT(text, HasSubstr("ceilings that are measured beside the case"));
  EXPECT_THAT(text, Not(HasSubstr("marked R")));
  EXPECT_THAT(text, Not(HasSubstr("PUBLISHED")));
}

}  // namespace
}  // namespace assay::cli
