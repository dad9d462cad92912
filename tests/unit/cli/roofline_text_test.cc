#include "cli/views/roofline_text.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "roofline/published.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

std::string TextOf(const std::string& name, v1::ResourceKind resource) {
  v1::BenchmarkSchema schema;
  schema.set_name(name);
  schema.set_resource(resource);
  return RooflineText(schema, {});
}

TEST(RooflineText, GpuBenchmark_HasSheetsAndPublishedFigures) {
  EXPECT_WORDING("views/roofline-gpu", TextOf("attention", v1::RESOURCE_KIND_GPU));
}

TEST(RooflineText, BenchmarkWithItsOwnPrediction_ShowsIt) {
  v1::BenchmarkSchema schema;
  schema.set_name("launch_overhead");
  schema.set_resource(v1::RESOURCE_KIND_GPU);
  schema.set_prediction("predicted = launches x 2.5 us");
  EXPECT_WORDING("views/roofline-own", RooflineText(schema, {}));
  schema.set_prediction("none: no spec sheet gives the latency of a load");
  EXPECT_WORDING("views/roofline-none", RooflineText(schema, {}));
}

// Two figures that differ only in their value could not be told apart.
TEST(PublishedFigures, NoTwoHaveEqualDescriptions) {
  std::set<std::string> rows;
  for (const PublishedFigure& figure : PublishedFigures()) {
    const std::string row = std::to_string(figure.gpu_count) + "x " + figure.gpu + " " +
                            figure.benchmark + " " + figure.case_text + " " + figure.metric + " " +
                            figure.software + " " + figure.Description();
    EXPECT_TRUE(rows.insert(row).second) << row;
  }
}

TEST(RooflineText, NetworkAndCpuBenchmarks_HaveNoSheets) {
  EXPECT_WORDING("views/roofline-network", TextOf("tcp_bandwidth", v1::RESOURCE_KIND_NETWORK));
  EXPECT_WORDING("views/roofline-cpu", TextOf("cpu_gemm", v1::RESOURCE_KIND_CPU));
}

}  // namespace
}  // namespace assay::cli
