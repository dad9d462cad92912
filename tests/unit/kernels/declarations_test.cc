// What every benchmark of this build declares is complete and fits together: what a new one
// forgets, a test without a GPU says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/declaration.h"
#include "kernels/registry.h"
#include "roofline/prediction.h"
#include "tests/unit/kernels/run_small.h"

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Faults = std::vector<std::string>;

// The amount that `quantity` divides by the time, or the other way round; of those that only
// a run can tell, 1.
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

Faults FaultsOfMetrics(const std::vector<Metric>& metrics) {
  Faults faults;
  std::set<std::string> names;
  for (const Metric& metric : metrics) {
    if (!names.insert(metric.name).second) faults.push_back("two metrics " + metric.name);
    if (metric.unit.empty()) faults.push_back("metric " + metric.name + " has no unit");
    if (metric.description.empty()) faults.push_back("metric " + metric.name + " is not described");
    if (!(metric.scale > 0)) faults.push_back("metric " + metric.name + " has no scale");
  }
  if (names.count("time") == 0) faults.push_back("metrics lack TimeMetric()");
  return faults;
}

Faults FaultsOfParameters(const std::vector<ParameterSpec>& specs) {
  Faults faults;
  for (const ParameterSpec& spec : specs) {
    const bool number = spec.IsNumber();
    if (spec.description.empty()) faults.push_back("parameter " + spec.name + " is not described");
    if (number && !(spec.minimum && spec.maximum)) {
      faults.push_back("parameter " + spec.name + " has no bounds");
    }
    if (spec.default_value && !CanonicalValue(spec, *spec.default_value).ok()) {
      faults.push_back("parameter " + spec.name + " does not accept its own default");
    }
  }
  return faults;
}

Faults FaultsOfWork(const BenchmarkInfo& info, const Work& work, const std::string& of) {
  Faults faults;
  for (const double amount : {work.flops, work.bytes, work.link_bytes, work.payload_bytes,
                              work.operations, work.fixed_seconds}) {
    if (!std::isfinite(amount) || amount < 0) faults.push_back("WorkOf has no number of" + of);
  }
  bool observes = false;
  for (const Metric& metric : info.metrics) {
    observes = observes || metric.quantity == Quantity::kObserved;
    if (!(AmountOf(metric.quantity, work) > 0)) {
      faults.push_back("WorkOf is 0 in what metric " + metric.name + " is made from, of" + of);
    }
  }
  if (!observes &&
      work.flops + work.bytes + work.link_bytes + work.payload_bytes + work.operations == 0) {
    faults.push_back("WorkOf is 0 in all that an iteration does, of" + of);
  }
  if (work.flops > 0 && work.peak == Peak::kNone) {
    faults.push_back("no peak bounds the FLOPs of" + of);
  }
  return faults;
}

// Of the case that is `given`, and else the defaults.
Faults FaultsOfCase(const Benchmark& benchmark, const ParameterMap& given) {
  const BenchmarkInfo& info = benchmark.Info();
  std::string text;
  for (const auto& [name, value] : given) text += " " + name + "=" + value;
  const auto parameters = CheckParameters(benchmark, given);
  if (!parameters.ok()) return {parameters.status().ToString()};
  const auto work = benchmark.WorkOf(*parameters, WorldSizeOf(info, *parameters));
  if (!work.ok()) return {work.status().ToString()};
  return FaultsOfWork(info, *work, text.empty() ? " the defaults" : text);
}

// What is wrong with a declaration, in words; empty if nothing is.
Faults FaultsOf(const Benchmark& benchmark) {
  const BenchmarkInfo& info = benchmark.Info();
  Faults faults;
  const auto add = [&faults](Faults more) {
    faults.insert(faults.end(), more.begin(), more.end());
  };
  if (info.version < 1) faults.emplace_back("version is below 1");
  if (info.summary.empty()) faults.emplace_back("summary is empty");
  if (info.model.empty()) faults.emplace_back("model is empty");
  if (info.selftest_parameters.empty()) faults.emplace_back("selftest_parameters are empty");
  add(FaultsOfMetrics(info.metrics));
  add(FaultsOfParameters(info.parameters));
  // What has no default, as a number of ranks, the self-test names.
  ParameterMap usual;
  bool has_ranks = false;
  for (const ParameterSpec& spec : info.parameters) {
    has_ranks = has_ranks || spec.name == "ranks";
    const auto own = info.selftest_parameters.find(spec.name);
    if (!spec.default_value && own != info.selftest_parameters.end()) usual.insert(*own);
  }
  if (info.collective != has_ranks) faults.emplace_back("collective, or a parameter ranks, lacks");
  if (info.selftest_parameters != usual) add(FaultsOfCase(benchmark, info.selftest_parameters));
  add(FaultsOfCase(benchmark, usual));
  for (const ParameterMap& variant : info.selftest_variants) {
    ParameterMap wanted = info.selftest_parameters;
    for (const auto& [name, value] : variant) wanted[name] = value;
    add(FaultsOfCase(benchmark, wanted));
  }
  return faults;
}

TEST(Declarations, AreCompleteInEveryBenchmark) {
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    EXPECT_THAT(FaultsOf(*benchmark), IsEmpty()) << benchmark->Info().name;
  }
}

// One that claims bytes, and declares what a draft has.
class Draft : public Benchmark {
 public:
  Draft() {
    info_.name = "draft";
    info_.parameters = {{"elements", ParameterType::kInteger, "words", "4", 1, {}, {}}};
    info_.selftest_variants = {{{"elements", "many"}}};
    info_.metrics = {{"bandwidth", "", Direction::kHigherIsBetter, "", Quantity::kBytes, 1e-9}};
  }
  const BenchmarkInfo& Info() const override { return info_; }
  Result<Work> WorkOf(const ParameterMap&, int) const override { return Work(); }
  Result<std::unique_ptr<Case>> Prepare(const RunContext&) const override {
    return Unsupported("a draft");
  }

 private:
  BenchmarkInfo info_;
};

TEST(Declarations, WhatADraftLacksIsSaid) {
  const Faults faults = FaultsOf(Draft());
  for (const char* words :
       {"summary is empty", "model is empty", "selftest_parameters are empty",
        "bandwidth has no unit", "bandwidth is not described", "lack TimeMetric()",
        "elements has no bounds", "0 in what metric bandwidth", "0 in all that an iteration does",
        "elements: \"many\""}) {
    EXPECT_THAT(faults, Contains(HasSubstr(words)));
  }
}

// "softmax columns=33 variant=warp".
std::string CaseText(const BenchmarkInfo& info, const ParameterMap& parameters) {
  std::string text = info.name;
  for (const auto& [name, value] : parameters) text += " " + name + "=" + value;
  return text;
}

// What is not used (the peak without FLOPs, the link without its bytes) is not compared.
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

TEST(Declarations, WorkIsThatOfTheWorkedExamples) {
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    const BenchmarkInfo& info = benchmark->Info();
    for (const WorkedExample& example : info.examples) {
      SCOPED_TRACE(CaseText(info, example.parameters));
      const auto parameters = CheckParameters(*benchmark, example.parameters);
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
      // What has no default, as a number of ranks, comes from the self-test.
      ParameterMap given = example.parameters;
      for (const ParameterSpec& spec : info.parameters) {
        const auto own = info.selftest_parameters.find(spec.name);
        if (!spec.default_value && own != info.selftest_parameters.end()) given.insert(*own);
      }
      const Status refused = CheckParameters(*benchmark, given).status();
      EXPECT_EQ(refused.code(), Code::kInvalidArgument);
      EXPECT_EQ(refused.reason(), Reason::kInvalidParameter);
      ASSERT_EQ(refused.violations().size(), 1u) << refused;
      EXPECT_EQ(refused.violations()[0].field, example.parameter) << refused;
    }
  }
}

TEST(Declarations, EveryDeclarationHasAWorkedAndARefusedExample) {
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    // Bridge: examples of other benchmarks are in work_test.cc.
    if (dynamic_cast<const DeclaredBenchmark*>(benchmark.get()) == nullptr) continue;
    EXPECT_THAT(benchmark->Info().examples, Not(IsEmpty())) << benchmark->Info().name;
    EXPECT_THAT(benchmark->Info().refused, Not(IsEmpty())) << benchmark->Info().name;
  }
}

TEST(Declarations, NamesAreUnique) {
  std::set<std::string> names;
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    EXPECT_TRUE(names.insert(benchmark->Info().name).second) << benchmark->Info().name;
  }
}

// On an H200, whose sheet has all that sheets have: a time is predicted, or it is said why not.
TEST(Declarations, EveryTimeIsPredictedOrSaidWhyNot) {
  Evidence of_gpu;
  of_gpu.spec = SheetNamed("H200 SXM");
  ASSERT_NE(of_gpu.spec, nullptr);
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    const BenchmarkInfo& info = benchmark->Info();
    if (info.resource == Resource::kCpu) continue;  // Held to ceilings, below.
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
      EXPECT_THAT(text, HasSubstr("none")) << "say why there is no prediction";
    }
  }
}

// What RunSmall wants, and rates of this machine to compare the result with.
TEST(CpuBenchmarks, SelfTestsPassAndHaveCeilings) {
  for (const auto& benchmark : BuiltinBenchmarks().All()) {
    const BenchmarkInfo& info = benchmark->Info();
    if (info.resource != Resource::kCpu || !benchmark->UnsupportedReason().empty()) continue;
    SCOPED_TRACE(info.name);
    RunSmall(*benchmark, info.selftest_parameters);
    RunContext context;
    context.parameters = *CanonicalParameters(info.parameters, info.selftest_parameters);
    const auto prepared = benchmark->Prepare(context);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    const auto ceilings = (*prepared)->MeasureCeilings();
    ASSERT_TRUE(ceilings.ok()) << ceilings.status();
    EXPECT_TRUE(ceilings->flops || ceilings->bytes || ceilings->fixed_seconds)
        << "MeasureCeilings finds nothing";
  }
}

TEST(Registry, NamesAreKnownAndHelpful) {
  EXPECT_TRUE(BuiltinBenchmarks().Find("cpu_gemm").ok());
  const auto missing = BuiltinBenchmarks().Find("cpu_gem");
  EXPECT_EQ(missing.status().reason(), Reason::kUnknownBenchmark);
  EXPECT_THAT(missing.status().hint(), HasSubstr("cpu_gemm"));
}

}  // namespace
}  // namespace assay
