// What a self-test is to verify.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "kernels/registry.h"
#include "runner/local_case.h"

namespace assay {

// A benchmark with the parameters of its self-test, but for those that are given.
struct Selftest {
  LocalCase what;
  ParameterMap given;
  // One of the benchmark's selftest_variants: nobody named it.
  bool variant = false;

  const BenchmarkInfo& Info() const { return what.benchmark->Info(); }
  bool OnOneGpu() const { return Info().resource == Resource::kGpu && !Info().collective; }
  // Parameters that contradict each other do so on every GPU.
  bool Contradicts() const {
    return !what.benchmark->WorkOf(what.parameters, WorldSizeOf(what)).ok();
  }
  // "softmax columns=31 variant=warp".
  std::string Name() const {
    std::string text = Info().name;
    for (const auto& [name, value] : given) text += " " + name + "=" + value;
    return text;
  }
  // How its line begins.
  std::string Head() const {
    std::string text = Name();
    constexpr size_t kWidth = 24;
    text.resize(std::max(text.size(), kWidth), ' ');
    return text + " ";
  }
};

struct Selection {
  std::vector<Selftest> tests;
  bool named = false;  // Else every benchmark.
  std::optional<int> gpu;
  bool require_gpu = false;
};

// [NAME [k=v...]]... [--gpu N] [--require-gpu].
Result<Selection> ParseSelection(const Registry& registry,
                                 const std::vector<std::string>& arguments);

}  // namespace assay
