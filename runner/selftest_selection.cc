#include "runner/selftest_selection.h"

#include <utility>

#include "runner/arguments.h"

namespace assay {
namespace {

Result<Selftest> MakeSelftest(const Benchmark* benchmark, const ParameterMap& given, bool variant) {
  Selftest test;
  test.what.benchmark = benchmark;
  test.given = given;
  test.variant = variant;
  const BenchmarkInfo& info = benchmark->Info();
  ParameterMap wanted = info.selftest_parameters;
  for (const auto& [name, value] : given) wanted[name] = value;
  ASSAY_ASSIGN_OR_RETURN(test.what.parameters, CheckParameters(*benchmark, wanted));
  return test;
}

// Adds the benchmark with the given parameters. Without any, adds its variants too.
Status Add(const Benchmark* benchmark, const ParameterMap& given, Selection* selection) {
  ASSAY_ASSIGN_OR_RETURN(Selftest own, MakeSelftest(benchmark, given, false));
  own.what.gpu = selection->gpu;
  ASSAY_RETURN_IF_ERROR(CheckGpu(own.what));
  selection->tests.push_back(std::move(own));
  if (!given.empty()) return Status::Ok();
  for (const ParameterMap& variant : benchmark->Info().selftest_variants) {
    ASSAY_ASSIGN_OR_RETURN(Selftest further, MakeSelftest(benchmark, variant, true));
    further.what.gpu = selection->gpu;
    selection->tests.push_back(std::move(further));
  }
  return Status::Ok();
}

}  // namespace

bool Selftest::Contradicts() const {
  return !what.benchmark->WorkOf(what.parameters, WorldSizeOf(what)).ok();
}

bool Selftest::OnEachGpu() const {
  return Info().resource == Resource::kGpu && !Info().collective && !Contradicts();
}

std::string Selftest::Name() const {
  std::string text = Info().name;
  for (const auto& [name, value] : given) text += " " + name + "=" + value;
  return text;
}

Result<Selection> ParseSelection(const Registry& registry,
                                 const std::vector<std::string>& arguments) {
  Selection selection;
  std::vector<std::pair<const Benchmark*, ParameterMap>> chosen;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--gpu") {
      if (++i == arguments.size()) return InvalidArgument("--gpu needs a value");
      ASSAY_ASSIGN_OR_RETURN(selection.gpu, GpuNumber(arguments[i]));
    } else if (argument == "--require-gpu") {
      selection.require_gpu = true;
    } else if (LooksLikeOption(argument)) {
      return UnknownOption(argument, "selftest");
    } else if (!chosen.empty() && argument.find('=') != std::string::npos) {
      ASSAY_RETURN_IF_ERROR(AddParameter(argument, "selftest", &chosen.back().second));
    } else {
      ASSAY_ASSIGN_OR_RETURN(const Benchmark* const benchmark, registry.Find(argument));
      chosen.emplace_back(benchmark, ParameterMap());
    }
  }
  selection.named = !chosen.empty();
  for (const auto& benchmark : registry.All()) {
    const BenchmarkInfo& info = benchmark->Info();
    const bool on_one_gpu = info.resource == Resource::kGpu && !info.collective;
    if (selection.named || (selection.gpu && !on_one_gpu)) continue;
    chosen.emplace_back(benchmark.get(), ParameterMap());
  }
  for (const auto& [benchmark, given] : chosen) {
    ASSAY_RETURN_IF_ERROR(Add(benchmark, given, &selection));
  }
  return selection;
}

std::vector<Selftest> TestsOnEachGpu(const Selection& selection, bool on_each_gpu) {
  std::vector<Selftest> tests;
  for (const Selftest& test : selection.tests) {
    if (test.OnEachGpu() == on_each_gpu) tests.push_back(test);
  }
  return tests;
}

}  // namespace assay
