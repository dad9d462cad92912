// Parses assay-runner's command line. Every error is INVALID_ARGUMENT.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "runner/local_case.h"

namespace assay {

// Returns whether an argument looks like an option: "-o", "--seed=3".
bool LooksLikeOption(const std::string& argument);

// Returns the error for an unknown option. Its text lists the valid options of `command`, such as
// "run" or "selftest", or those of the program itself if `command` is empty.
Status UnknownOption(const std::string& argument, const std::string& command);

bool HasOption(const std::string& command, const std::string& option);

// Parses the value of an option that takes a whole number from 0 to `most`.
Result<int64_t> OptionNumber(const std::string& option, const std::string& value, int64_t most);

// Parses the value of --gpu.
Result<int> GpuNumber(const std::string& value);

// Adds an argument of the form NAME=VALUE to `given`.
Status AddParameter(const std::string& argument, const std::string& command, ParameterMap* given);

// One test of the self-test command: a benchmark and its parameters. Parameters from the command
// line override the benchmark's own self-test parameters.
struct Selftest {
  LocalCase what;
  ParameterMap given;
  bool variant = false;  // One of the benchmark's selftest_variants, which the user did not name.

  const BenchmarkInfo& Info() const { return what.benchmark->Info(); }
  bool OnGpu() const { return Info().resource == Resource::kGpu; }
  // Returns true if the parameters contradict each other, in which case the test fails in the same
  // way on every GPU.
  bool Contradicts() const {
    return !what.benchmark->WorkOf(what.parameters, WorldSizeOf(what)).ok();
  }
  // Returns whether the test runs once on each GPU.
  bool OnEachGpu() const { return OnGpu() && !Info().collective && !Contradicts(); }
  // Returns a name such as "softmax columns=31 variant=warp".
  std::string Name() const {
    std::string text = Info().name;
    for (const auto& [name, value] : given) text += " " + name + "=" + value;
    return text;
  }
};

struct Selection {
  std::vector<Selftest> tests;
  bool named = false;  // True if the user named benchmarks; otherwise all are selected.
  std::optional<int> gpu;
  bool require_gpu = false;

  // Returns the tests that run once on each GPU if `on_each` is true, or else all other tests.
  std::vector<Selftest> OnEachGpu(bool on_each) const {
    std::vector<Selftest> found;
    std::copy_if(tests.begin(), tests.end(), std::back_inserter(found),
                 [&](const Selftest& test) { return test.OnEachGpu() == on_each; });
    return found;
  }
};

// Parses [NAME [k=v...]]... [--gpu N] [--require-gpu].
Result<Selection> ParseSelection(const Registry& registry,
                                 const std::vector<std::string>& arguments);

}  // namespace assay
