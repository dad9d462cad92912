// Tests tests/gpu/kernel_variants.txt, the list of what runs under compute-sanitizer: it must cover
// every kernel of this project, with parameters that its benchmark accepts.
#include "tests/gpu/kernel_variants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernels/registry.h"

namespace assay {
namespace {

Result<ParameterMap> Accepted(const Benchmark& benchmark, const ParameterMap& given) {
  ParameterMap wanted = benchmark.Info().selftest_parameters;
  for (const auto& [name, value] : given) wanted[name] = value;
  return CheckParameters(benchmark, wanted);
}

TEST(KernelVariants, EveryChoiceOfAKernelIsCovered) {
  const Registry& registry = BuiltinBenchmarks();
  std::map<std::string, std::vector<ParameterMap>> runs;
  const auto variants = ReadKernelVariants(ASSAY_SOURCE "/tests/gpu/kernel_variants.txt");
  ASSERT_TRUE(variants.ok()) << variants.status();
  for (const auto& [name, given] : *variants) {
    const auto benchmark = registry.Find(name);
    ASSERT_TRUE(benchmark.ok()) << benchmark.status();
    const auto accepted = Accepted(**benchmark, given);
    EXPECT_TRUE(accepted.ok()) << name << ": " << accepted.status();
    if (accepted.ok()) runs[name].push_back(*accepted);
  }
  // Parameters that say where, from which data and how often iterations run, but not which kernel.
  // Every other choice is assumed to select a kernel.
  const std::set<std::string> not_choosing = {"cache", "launch", "fill",      "memory",
                                              "numa",  "layout", "accumulate"};
  // Choices that change only the size of the data that a kernel reads.
  const std::set<std::string> same_kernel = {"pointer_chase level=l1", "pointer_chase level=l2",
                                             "pointer_chase level=dram", "cache_bandwidth level=l2",
                                             "cache_bandwidth level=hbm"};
  for (const auto& benchmark : registry.All()) {
    const BenchmarkInfo& info = benchmark->Info();
    // "sustained" runs the kernels of gemm. planted_collectives.cu covers every type and operation
    // of the collectives.
    if (info.resource != Resource::kGpu || info.name == "sustained" || info.collective) continue;
    const auto own = Accepted(*benchmark, {});
    ASSERT_TRUE(own.ok()) << info.name << ": " << own.status();
    runs[info.name].push_back(*own);
    for (const ParameterMap& changes : info.selftest_variants) {
      const auto also = Accepted(*benchmark, changes);
      ASSERT_TRUE(also.ok()) << info.name << ": " << also.status();
      runs[info.name].push_back(*also);
    }
    for (const ParameterSpec& spec : info.parameters) {
      if (not_choosing.count(spec.name) != 0) continue;
      for (const std::string& word : spec.choices) {
        const std::string text = info.name + " " + spec.name + "=" + word;
        if (same_kernel.count(text) != 0) continue;
        EXPECT_TRUE(std::any_of(runs[info.name].begin(), runs[info.name].end(),
                                [&](const ParameterMap& run) { return run.at(spec.name) == word; }))
            << text << " is in no line";
      }
    }
  }
}

}  // namespace
}  // namespace assay
