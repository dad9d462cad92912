#include "predict/model_shape.h"

#include <gtest/gtest.h>

namespace assay::predict {
namespace {

TEST(ModelShapeTest, EveryPublishedCountFollowsFromItsShape) {
  for (const ModelShape& shape : ModelShapes()) {
    EXPECT_EQ(CountParameters(shape), shape.parameters) << shape.name;
    EXPECT_TRUE(CheckShape(shape).ok()) << shape.name << ": " << CheckShape(shape);
    EXPECT_FALSE(shape.source.empty()) << shape.name;
  }
}

}  // namespace
}  // namespace assay::predict
