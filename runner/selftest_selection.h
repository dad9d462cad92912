// Which tests a self-test runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "runner/local_case.h"

namespace assay {

// One benchmark with the parameters of its self-test; given parameters replace some of them.
struct Selftest {
  LocalCase what;
  ParameterMap given;
  bool variant = false;  // One of the benchmark's selftest_variants, which the user did not name.

  const BenchmarkInfo& Info() const { return what.benchmark->Info(); }
  // Whether its parameters contradict each other: it then fails the same way on every GPU.
  bool Contradicts() const;
  // Whether it runs once on each GPU.
  bool OnEachGpu() const;
  std::string Name() const;  // "softmax columns=31 variant=warp"
};

struct Selection {
  std::vector<Selftest> tests;
  bool named = false;  // The user named benchmarks; otherwise all are selected.
  std::optional<int> gpu;
  bool require_gpu = false;
};

// [NAME [k=v...]]... [--gpu N] [--require-gpu].
Result<Selection> ParseSelection(const Registry& registry,
                                 const std::vector<std::string>& arguments);

// The tests that run once on each GPU, or all others.
std::vector<Selftest> TestsOnEachGpu(const Selection& selection, bool on_each_gpu);

}  // namespace assay
