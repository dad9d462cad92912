// Tests that published figures name benchmarks, parameters and metrics as this build declares them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "roofline/published.h"

namespace assay {
namespace {

TEST(PublishedCatalogue, SelectorsAreCanonicalParameters) {
  const Registry& registry = BuiltinBenchmarks();
  for (const PublishedFigure& figure : PublishedFigures()) {
    SCOPED_TRACE(figure.benchmark + " " + figure.case_text);
    const auto benchmark = registry.Find(figure.benchmark);
    ASSERT_TRUE(benchmark.ok()) << benchmark.status();
    const BenchmarkInfo& info = (*benchmark)->Info();
    std::vector<ParameterSpec> named;
    for (const ParameterSpec& spec : info.parameters) {
      if (figure.selector.count(spec.name) > 0) named.push_back(spec);
    }
    EXPECT_EQ(named.size(), figure.selector.size());
    const auto canonical = CanonicalParameters(named, figure.selector);
    EXPECT_TRUE(canonical.ok()) << canonical.status();
    if (canonical.ok()) EXPECT_EQ(*canonical, figure.selector);
    EXPECT_TRUE(std::any_of(info.metrics.begin(), info.metrics.end(), [&](const Metric& metric) {
      return metric.name == figure.metric;
    })) << figure.metric;
  }
}

}  // namespace
}  // namespace assay
