#include "roofline/published.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "roofline/spec_sheet.h"

namespace assay {
namespace {

PublishedQuery Gemm(const std::string& m, const std::string& dtype) {
  PublishedQuery query;
  query.spec = "H200 SXM";
  query.gpu_model = "H200";
  query.gpu_form_factor = "SXM";
  query.gpu_count = 1;
  query.benchmark = "gemm";
  query.parameters = {{"m", m},         {"n", m},           {"k", m},         {"dtype", dtype},
                      {"layout", "nn"}, {"fill", "random"}, {"cache", "cold"}};
  query.metric = "tflops";
  return query;
}

TEST(Published, EveryRowCanBeMatched) {
  ASSERT_GT(PublishedFigures().size(), 50u);
  for (const PublishedFigure& figure : PublishedFigures()) {
    SCOPED_TRACE(figure.gpu + " " + figure.benchmark + " " + figure.case_text);
    EXPECT_NE(SheetNamed(figure.gpu), nullptr);
    EXPECT_GT(figure.gpu_count, 0);
    EXPECT_GT(figure.value, 0);
    EXPECT_FALSE(figure.selector.empty());
    EXPECT_FALSE(figure.parameters.empty());
    EXPECT_EQ(figure.kind, "measured");
    // Rates are in the unit that the benchmarks use; times are in seconds.
    EXPECT_TRUE(ValueIn(figure, figure.metric == "time"             ? "s"
                                : figure.metric == "tflops"         ? "TFLOP/s"
                                : figure.metric == "launch_time"    ? "us"
                                : figure.metric == "latency_cycles" ? "cycles"
                                                                    : "GB/s"))
        << figure.unit;
    PublishedQuery query = {figure.gpu,      "",           "", figure.gpu_count, figure.benchmark,
                            figure.selector, figure.metric};
    const auto found = FindPublished(query);
    EXPECT_EQ(std::count(found.begin(), found.end(), &figure), 1);
    query.gpu_count += 16;
    EXPECT_TRUE(FindPublished(query).empty());
  }
}

TEST(Published, FindsTheCaseAndNoOther) {
  const auto found = FindPublished(Gemm("4096", "bf16"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_DOUBLE_EQ(found[0]->value, 712);
  EXPECT_TRUE(FindPublished(Gemm("4096", "fp16")).empty());
  EXPECT_TRUE(FindPublished(Gemm("4095", "bf16")).empty());
  PublishedQuery zeros = Gemm("4096", "bf16");
  zeros.parameters["fill"] = "zeros";
  EXPECT_TRUE(FindPublished(zeros).empty());
  zeros.parameters.erase("fill");
  EXPECT_TRUE(FindPublished(zeros).empty());
  PublishedQuery time = Gemm("4096", "bf16");
  time.metric = "time";
  EXPECT_TRUE(FindPublished(time).empty());
}

TEST(Published, SeveralFiguresOfOneCase) {
  PublishedQuery query = Gemm("4096", "fp32");
  query.spec = "RTX 4090";
  EXPECT_EQ(FindPublished(query).size(), 2u);
}

TEST(Published, SheetDistinguishesVariantsOfAModel) {
  PublishedQuery query;
  query.gpu_model = "A100";
  query.gpu_form_factor = "SXM";
  EXPECT_EQ(PublishedGpu(query), "");
  query.spec = "A100-SXM4-40GB";
  EXPECT_EQ(PublishedGpu(query), "A100-SXM4-40GB");
  query.spec = "A100-SXM4-80GB";
  EXPECT_EQ(PublishedGpu(query), "");
  // Without a prediction the model's name is used if it is unambiguous.
  EXPECT_EQ(PublishedGpu({"", "H200", "SXM", 1, "", {}, ""}), "H200 SXM");
  EXPECT_EQ(PublishedGpu({"", "H200", "NVL", 1, "", {}, ""}), "");
  EXPECT_EQ(PublishedGpu({"", "RTX 4090", "", 1, "", {}, ""}), "RTX 4090");
  EXPECT_EQ(PublishedGpu({"", "", "", 0, "", {}, ""}), "");
}

TEST(Published, FiguresOfAGpuIncludeWorkloads) {
  std::map<std::string, int> benchmarks;
  for (const PublishedFigure* figure : PublishedOf("A100-SXM4-80GB")) {
    // Figures of another variant are left out, those of no particular variant are not.
    EXPECT_TRUE(figure->gpu == "A100-SXM4-80GB" || figure->gpu == "A100") << figure->gpu;
    ++benchmarks[figure->benchmark];
  }
  EXPECT_GE(benchmarks["decode"], 10);
  EXPECT_GE(benchmarks["serving"], 10);
  EXPECT_GE(benchmarks["train"], 3);
  const auto h200 = PublishedOf("H200 SXM");
  EXPECT_TRUE(std::any_of(h200.begin(), h200.end(),
                          [](const auto* figure) { return figure->benchmark == "gemm"; }));
  for (const PublishedFigure* figure : PublishedOf("RTX 4090")) EXPECT_EQ(figure->gpu, "RTX 4090");
  EXPECT_TRUE(PublishedOf("L4").empty());
  EXPECT_TRUE(PublishedOf("").empty());
}

// Workloads have no parameters that a result could have, so no result compares with them.
TEST(Published, WorkloadsAreCompleteAndNeverCompared) {
  std::set<const PublishedFigure*> workloads;
  for (const GpuSpec& spec : SpecSheets()) {
    for (const PublishedFigure* figure : PublishedOf(spec.name)) {
      if (figure->selector.empty()) workloads.insert(figure);
    }
  }
  EXPECT_GE(workloads.size(), 50u);
  for (const PublishedFigure* figure : workloads) {
    SCOPED_TRACE(figure->gpu + " " + figure->benchmark + " " + figure->parameters);
    EXPECT_TRUE(figure->kind == "measured" || figure->kind == "published") << figure->kind;
    EXPECT_TRUE(figure->case_text.empty());
    EXPECT_FALSE(figure->parameters.empty());
    EXPECT_FALSE(figure->metric.empty());
    EXPECT_GT(figure->value, 0);
    EXPECT_TRUE(FindPublished({figure->gpu,
                               "",
                               "",
                               figure->gpu_count,
                               figure->benchmark,
                               {{"model", "llama-3-8b"}},
                               figure->metric})
                    .empty());
  }
}

TEST(Published, UnitsConvert) {
  PublishedFigure figure;
  figure.value = 20.6;
  figure.unit = "us";
  EXPECT_DOUBLE_EQ(*ValueIn(figure, "s"), 20.6e-6);
  EXPECT_FALSE(ValueIn(figure, "GB/s"));
  EXPECT_FALSE(ValueIn(figure, "fortnights"));
  figure.unit = "TFLOP/s";
  EXPECT_DOUBLE_EQ(*ValueIn(figure, "GFLOP/s"), 20600);
}

}  // namespace
}  // namespace assay
