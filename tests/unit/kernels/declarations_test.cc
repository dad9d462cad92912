// Every declaration is complete and consistent, and its examples hold. No GPU is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/text.h"
#include "kernels/declaration.h"
#include "kernels/registry.h"
#include "roofline/prediction.h"
#include "tests/unit/kernels/run_small.h"
#include "tests/wording.h"

namespace assay {
namespace {

using testing::IsEmpty;
using testing::Not;

using Problems = std::vector<std::string>;

void Append(const Problems& more, Problems* problems) {
  problems->insert(problems->end(), more.begin(), more.end());
}

// "softmax columns=33 variant=warp".
std::string CaseText(const BenchmarkInfo& info, const ParameterMap& parameters) {
  std::string text = info.name;
  for (const auto& [name, value] : parameters) text += " " + name + "=" + value;
  return text;
}

// Adds parameters without default, for example a number of ranks, from the self-test.
ParameterMap WithRequired(const BenchmarkInfo& info, ParameterMap given) {
  for (const ParameterSpec& spec : info.parameters) {
    const auto own = info.selftest_parameters.find(spec.name);
    if (!spec.default_value && own != info.selftest_parameters.end()) given.insert(*own);
  }
  return given;
}

// The amount in `work` that `quantity` is computed from; 1 if only a run can tell it.
double AmountOf(Quantity quantity, const Work& work) {
  switch (quantity) {
    case Quantity::kFlops:
      return work.flops;
    case Quantity::kBytes:
      return work.bytes;
    case Quantity::kLinkBytes:
      return work.link_bytes;
    case Quantity::kPayloadBytes:
      return work.payload_bytes;
    case Quantity::kOperations:
    case Quantity::kSecondsPerOperation:
      return work.operations;
    case Quantity::kSeconds:
    case Quantity::kWireBytes:
    case Quantity::kObserved:
      return 1;
  }
  return 0;
}

Problems ProblemsOfMetrics(const std::vector<Metric>& metrics) {
  Problems problems;
  std::set<std::string> names;
  for (const Metric& metric : metrics) {
    const std::string what = "metric " + metric.name;
    if (!names.insert(metric.name).second) problems.push_back(what + " is declared twice");
    if (metric.unit.empty()) problems.push_back(what + " has no unit");
    if (metric.description.empty()) problems.push_back(what + " has no description");
    if (!(metric.scale > 0)) problems.push_back(what + " has a unit without a scale");
  }
  if (names.count("time") == 0) problems.emplace_back("there is no metric time");
  return problems;
}

Problems ProblemsOfParameters(const std::vector<ParameterSpec>& specs) {
  Problems problems;
  for (const ParameterSpec& spec : specs) {
    const std::string what = "parameter " + spec.name;
    if (spec.description.empty()) problems.push_back(what + " has no description");
    if (spec.IsNumber() && !(spec.minimum && spec.maximum)) {
      problems.push_back(what + " has no bounds");
    }
    if (spec.default_value && !CanonicalValue(spec, *spec.default_value).ok()) {
      problems.push_back(what + " does not accept its own default");
    }
  }
  return problems;
}

Problems ProblemsOfWork(const BenchmarkInfo& info, const Work& work) {
  Problems problems;
  const std::vector<double> amounts = {work.flops,         work.bytes,      work.link_bytes,
                                       work.payload_bytes, work.operations, work.fixed_seconds};
  double sum = 0;
  for (const double amount : amounts) {
    sum += amount;
    if (!std::isfinite(amount) || amount < 0) problems.emplace_back("an amount is no number");
  }
  bool observes = false;
  for (const Metric& metric : info.metrics) {
    observes = observes || metric.quantity == Quantity::kObserved;
    if (!(AmountOf(metric.quantity, work) > 0)) {
      problems.push_back("the amount of metric " + metric.name + " is 0");
    }
  }
  if (!observes && sum - work.fixed_seconds == 0) problems.emplace_back("all amounts are 0");
  if (work.flops > 0 && work.peak == Peak::kNone) problems.emplace_back("FLOPs have no peak");
  return problems;
}

Problems ProblemsOfCase(const Benchmark& benchmark, const ParameterMap& given) {
  const auto parameters = CheckParameters(benchmark, given);
  if (!parameters.ok()) return {parameters.status().message()};
  const BenchmarkInfo& info = benchmark.Info();
  const auto work = benchmark.WorkOf(*parameters, WorldSizeOf(info, *parameters));
  if (!work.ok()) return {work.status().message()};
  Problems problems = ProblemsOfWork(info, *work);
  for (std::string& problem : problems) problem = CaseText(info, given) + ": " + problem;
  return problems;
}

Problems ProblemsOf(const Benchmark& benchmark) {
  const BenchmarkInfo& info = benchmark.Info();
  Problems problems;
  if (info.version < 1) problems.emplace_back("the version is below 1");
  if (info.summary.empty()) problems.emplace_back("there is no summary");
  if (info.model.empty()) problems.emplace_back("there is no model");
  if (info.selftest_parameters.empty()) problems.emplace_back("there is no self-test");
  if (info.examples.empty()) problems.emplace_back("there is no worked example");
  if (info.refused.empty()) problems.emplace_back("there is no refused example");
  Append(ProblemsOfMetrics(info.metrics), &problems);
  Append(ProblemsOfParameters(info.parameters), &problems);
  bool has_ranks = false;
  for (const ParameterSpec& spec : info.parameters) has_ranks = has_ranks || spec.name == "ranks";
  if (info.collective != has_ranks) {
    problems.emplace_back("a collective needs a parameter ranks, and others must not have one");
  }
  Append(ProblemsOfCase(benchmark, info.selftest_parameters), &problems);
  Append(ProblemsOfCase(benchmark, WithRequired(info, {})), &problems);
  for (const ParameterMap& variant : info.selftest_variants) {
    ParameterMap wanted = info.selftest_parameters;
    for (const auto& [name, value] : variant) wanted[name] = value;
    Append(ProblemsOfCase(benchmark, wanted), &problems);
  }
  return problems;
}

TEST(Declarations, AreComplete) {
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    EXPECT_THAT(ProblemsOf(*benchmark), IsEmpty()) << benchmark->Info().name;
  }
}

std::string NoReason(const BenchmarkInfo&) { return ""; }

TEST(Declarations, IncompleteDraftHasProblems) {
  Declaration draft("draft", Resource::kCpu);
  draft.Parameters({Parameter::Integer("elements").Default(4).AtLeast(5)})
      .Metrics({Metric::Rate("bandwidth", "GiB/s", Quantity::kBytes, "")})
      .SelfTestAlso({{"elements", "many"}});
  const DeclaredBenchmark benchmark(draft, nullptr, NoReason);
  EXPECT_WORDING("kernels/draft", Join(ProblemsOf(benchmark), "\n"));
}

TEST(Declarations, NamesAreUnique) {
  std::set<std::string> names;
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    EXPECT_TRUE(names.insert(benchmark->Info().name).second) << benchmark->Info().name;
  }
}

// The peak matters only with FLOPs, the traffic with bytes, the link with its bytes.
void ExpectWork(const Work& work, const Work& expected) {
  EXPECT_DOUBLE_EQ(work.flops, expected.flops);
  if (expected.flops > 0) EXPECT_EQ(ToText(work.peak), ToText(expected.peak));
  EXPECT_DOUBLE_EQ(work.bytes, expected.bytes);
  if (expected.bytes > 0) EXPECT_EQ(ToText(work.traffic), ToText(expected.traffic));
  EXPECT_DOUBLE_EQ(work.link_bytes, expected.link_bytes);
  if (expected.link_bytes > 0) EXPECT_EQ(ToText(work.link), ToText(expected.link));
  EXPECT_DOUBLE_EQ(work.payload_bytes, expected.payload_bytes);
  EXPECT_DOUBLE_EQ(work.operations, expected.operations);
  EXPECT_DOUBLE_EQ(work.sm_amount, expected.sm_amount);
  EXPECT_EQ(ToText(work.sm_rate), ToText(expected.sm_rate));
  EXPECT_EQ(work.sm_count, expected.sm_count);
  EXPECT_DOUBLE_EQ(work.fixed_seconds, expected.fixed_seconds);
  EXPECT_EQ(work.fixed_only, expected.fixed_only);
}

TEST(Declarations, WorkedExamplesHold) {
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    const BenchmarkInfo& info = benchmark->Info();
    for (const WorkedExample& example : info.examples) {
      SCOPED_TRACE(CaseText(info, example.parameters));
      const auto parameters = CheckParameters(*benchmark, WithRequired(info, example.parameters));
      ASSERT_TRUE(parameters.ok()) << parameters.status();
      const auto work = benchmark->WorkOf(*parameters, WorldSizeOf(info, *parameters));
      ASSERT_TRUE(work.ok()) << work.status();
      ExpectWork(*work, example.work);
    }
  }
}

TEST(Declarations, RefusedExamplesAreRefusedForTheirParameter) {
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    const BenchmarkInfo& info = benchmark->Info();
    for (const RefusedExample& example : info.refused) {
      SCOPED_TRACE(CaseText(info, example.parameters));
      const Status refused =
          CheckParameters(*benchmark, WithRequired(info, example.parameters)).status();
      EXPECT_EQ(refused.reason(), Reason::kInvalidParameter);
      ASSERT_EQ(refused.violations().size(), 1u) << refused;
      EXPECT_EQ(refused.violations()[0].field, example.parameter) << refused;
    }
  }
}

// On an H200, whose sheet is complete.
TEST(Declarations, EveryTimeIsPredictedOrHasAReasonWhyNot) {
  Evidence of_gpu;
  of_gpu.spec = SheetNamed("H200 SXM");
  ASSERT_NE(of_gpu.spec, nullptr);
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    const BenchmarkInfo& info = benchmark->Info();
    if (info.resource == Resource::kCpu) continue;  // Predicted from ceilings; see below.
    SCOPED_TRACE(info.name);
    const auto parameters = CheckParameters(*benchmark, info.selftest_parameters);
    ASSERT_TRUE(parameters.ok()) << parameters.status();
    const auto work = benchmark->WorkOf(*parameters, WorldSizeOf(info, *parameters));
    ASSERT_TRUE(work.ok()) << work.status();
    const bool on_gpu = info.resource == Resource::kGpu;
    const Prediction prediction = Predict(*work, on_gpu ? of_gpu : Evidence(), 1);
    const std::string text = DescribePrediction(info.prediction, info.resource);
    if (prediction.predicted_seconds) {
      EXPECT_NE(text.rfind("none: ", 0), 0u) << "there is a prediction";
    } else {
      EXPECT_THAT(text, testing::HasSubstr("none")) << "say why there is no prediction";
    }
  }
}

TEST(CpuBenchmarks, SelfTestsPassAndHaveCeilings) {
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    const BenchmarkInfo& info = benchmark->Info();
    if (info.resource != Resource::kCpu || !benchmark->UnsupportedReason().empty()) continue;
    SCOPED_TRACE(info.name);
    RunSmall(*benchmark, info.selftest_parameters);
    RunContext context;
    context.parameters = *CheckParameters(*benchmark, info.selftest_parameters);
    const auto prepared = benchmark->Prepare(context);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    const auto ceilings = (*prepared)->MeasureCeilings();
    ASSERT_TRUE(ceilings.ok()) << ceilings.status();
    EXPECT_TRUE(ceilings->flops || ceilings->bytes || ceilings->fixed_seconds);
  }
}

TEST(BuildWithoutCode, BenchmarkIsUnsupported) {
  const DeclaredBenchmark benchmark(Declaration("draft", Resource::kGpu), nullptr, NoReason);
  EXPECT_TRUE(IsUnsupported(benchmark.Prepare(RunContext()).status()));
}

TEST(Registry, UnknownNameHasASuggestion) {
  EXPECT_TRUE(BuiltinBenchmarks().Find("cpu_gemm").ok());
  const Status missing = BuiltinBenchmarks().Find("cpu_gem").status();
  EXPECT_EQ(missing.reason(), Reason::kUnknownBenchmark);
  EXPECT_WORDING("kernels/unknown-benchmark-hint", missing.hint());
}

}  // namespace
}  // namespace assay
