#include "runner/arguments.h"

#include <algorithm>
#include <utility>

#include "common/text.h"
#include "common/units.h"

namespace assay {
namespace {

constexpr int64_t kMaxGpu = 4096;

std::vector<std::string> OptionsOf(const std::string& command) {
  if (command == "run") return {"-o", "--seed", "--gpu", "--counters", "--effort", "--help"};
  if (command == "selftest") return {"--gpu", "--require-gpu", "--help"};
  if (command.empty()) return {"--help", "--version"};
  return {"--help"};
}

// Adds a self-test of the benchmark with the parameters in `given` to `selection`. If `given` is
// empty, also adds one test for each variant that the benchmark declares for self-tests.
Status Add(const Benchmark& benchmark, const ParameterMap& given, Selection* selection) {
  const BenchmarkInfo& info = benchmark.Info();
  std::vector<ParameterMap> changes = {given};
  if (given.empty()) {
    changes.insert(changes.end(), info.selftest_variants.begin(), info.selftest_variants.end());
  }
  for (size_t i = 0; i < changes.size(); ++i) {
    Selftest test;
    test.what.benchmark = &benchmark;
    test.what.gpu = selection->gpu;
    test.given = changes[i];
    test.variant = i > 0;
    ParameterMap wanted = info.selftest_parameters;
    for (const auto& [name, value] : test.given) wanted[name] = value;
    ASSAY_ASSIGN_OR_RETURN(test.what.parameters, CheckParameters(benchmark, wanted));
    ASSAY_RETURN_IF_ERROR(CheckGpu(test.what));
    selection->tests.push_back(std::move(test));
  }
  return Status::Ok();
}

}  // namespace

bool LooksLikeOption(const std::string& argument) {
  return argument.size() > 1 && argument[0] == '-';
}

Status UnknownOption(const std::string& argument, const std::string& command) {
  const std::string name = argument.substr(0, argument.find('='));
  const std::vector<std::string> options = OptionsOf(command);
  return InvalidArgument((command.empty() ? "" : command + ": ") + "unknown option " +
                         Quote(argument) + "; " + Suggest(name, options));
}

bool HasOption(const std::string& command, const std::string& option) {
  const std::vector<std::string> options = OptionsOf(command);
  return std::find(options.begin(), options.end(), option) != options.end();
}

Result<int64_t> OptionNumber(const std::string& option, const std::string& value, int64_t most) {
  const auto number = ParseInteger(value);
  if (number.ok() && *number >= 0 && *number <= most) return *number;
  return InvalidArgument(option + ": " + Quote(value) + " is not a whole number from 0 to " +
                         std::to_string(most));
}

Result<int> GpuNumber(const std::string& value) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t gpu, OptionNumber("--gpu", value, kMaxGpu));
  return static_cast<int>(gpu);
}

Status AddParameter(const std::string& argument, const std::string& command, ParameterMap* given) {
  if (LooksLikeOption(argument)) return UnknownOption(argument, command);
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument(command + ": unexpected argument " + Quote(argument) +
                           "; parameters have the form NAME=VALUE");
  }
  const std::string name = argument.substr(0, equals);
  if (given->emplace(name, argument.substr(equals + 1)).second) return Status::Ok();
  return InvalidArgument(command + ": parameter " + Quote(name) + " is given twice");
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
    ASSAY_RETURN_IF_ERROR(Add(*benchmark, given, &selection));
  }
  return selection;
}

}  // namespace assay
