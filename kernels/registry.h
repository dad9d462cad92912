// The benchmarks of this build, by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "kernels/benchmark.h"

namespace assay {

// A list of benchmarks. It is filled once and read-only afterwards.
class Registry {
 public:
  // Asserts that no other benchmark has the same name.
  void Add(std::unique_ptr<Benchmark> benchmark);

  // Returns the benchmark with this name, or NOT_FOUND (UNKNOWN_BENCHMARK) with a suggestion.
  Result<const Benchmark*> Find(std::string_view name) const;

  // Returns all benchmarks in the order of registration.
  const std::vector<std::unique_ptr<Benchmark>>& All() const { return benchmarks_; }

 private:
  std::vector<std::unique_ptr<Benchmark>> benchmarks_;
};

// Returns every declared benchmark, including those that this build or machine cannot run. The
// returned benchmarks are descriptions only and cannot be prepared.
const Registry& DeclaredBenchmarks();

// Returns every benchmark of this build; see builtin.cc.
const Registry& BuiltinBenchmarks();

}  // namespace assay
