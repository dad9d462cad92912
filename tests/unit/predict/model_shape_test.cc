#include "predict/model_shape.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace assay::predict {
namespace {

TEST(ModelShapeTest, EveryPublishedCountFollowsFromItsShape) {
  for (const ModelShape& shape : ModelShapes()) {
    EXPECT_EQ(CountParameters(shape), shape.parameters) << shape.name;
    EXPECT_TRUE(CheckShape(shape).ok()) << shape.name << ": " << CheckShape(shape);
    EXPECT_FALSE(shape.source.empty()) << shape.name;
  }
}

TEST(ModelShapeTest, LocalLayersAttendToTheirWindow) {
  const ModelShape& gemma = **FindModel("gemma-3-12b");
  const double full = static_cast<double>(gemma.layers - gemma.local_layers);
  const double local = static_cast<double>(gemma.local_layers);
  const double heads = 4.0 * static_cast<double>(gemma.heads * gemma.head_dim);
  EXPECT_DOUBLE_EQ(AttentionFlops(gemma, 4096), heads * (full * 4096 + local * 1024));
  // The first 1,024 tokens are a triangle, the others a band.
  EXPECT_DOUBLE_EQ(PromptAttentionFlops(gemma, 4096),
                   heads * (full * 4096 * 4096 / 2 + local * (1024 * 1024 / 2 + 3072.0 * 1024)));
  EXPECT_DOUBLE_EQ(KvBytes(gemma, 4096, 2), 2.0 * 2 * 8 * 256 * (full * 4096 + local * 1024));
}

TEST(ModelShapeTest, ImpossibleShapesAreRefused) {
  ModelShape shape = **FindModel("tiny");
  shape.kv_heads = 3;
  EXPECT_FALSE(CheckShape(shape).ok());
  shape = **FindModel("tiny");
  shape.experts = shape.active_experts = INT64_MAX;
  shape.expert_ff = 1;
  EXPECT_FALSE(CheckShape(shape).ok());
  shape = **FindModel("tiny");
  shape.layers = shape.d = shape.heads = shape.kv_heads = shape.head_dim = 10'000'000;
  EXPECT_FALSE(CheckShape(shape).ok());
}

}  // namespace
}  // namespace assay::predict
