// tests/gpu/kernel_variants.txt: every kernel of ours is run under compute-sanitizer, with
// parameters that its benchmark accepts.
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
  ASSAY_ASSIGN_OR_RETURN(ParameterMap canonical,
                         CanonicalParameters(benchmark.Info().parameters, wanted));
  ASSAY_RETURN_IF_ERROR(benchmark.WorkOf(canonical, 1).status());
  return canonical;
}

TEST(KernelVariants, EveryWordThatChoosesAKernelIsReached) {
  const Registry& registry = BuiltinBenchmarks();
  std::map<std::string, std::vector<ParameterMap>> runs;
  const auto variants = ReadKernelVariants(ASSAY_SOURCE "/tests/gpu/kernel_variants.txt");
  ASSERT_TRUE(variants.ok()) << variants.status();
  for (const auto& [name, given] : *variants) {
    const auto benchmark = registry.Find(name);
    if (!benchmark.ok()) continue;  // Not of this build.
    const auto accepted = Accepted(**benchmark, given);
    EXPECT_TRUE(accepted.ok()) << name << ": " << accepted.status();
    if (accepted.ok()) runs[name].push_back(*accepted);
  }
  const std::set<std::string> choosing = {"variant", "dtype",       "op",   "tile",
                                          "group",   "held_values", "space"};
  for (const auto& benchmark : registry.All()) {
    const BenchmarkInfo& info = benchmark->Info();
    // sustained does as gemm; of collectives, planted_collectives.cu has every type and operation.
    if (info.resource != Resource::kGpu || info.name == "sustained" || info.collective) continue;
    const auto own = Accepted(*benchmark, {});
    ASSERT_TRUE(own.ok()) << info.name << ": " << own.status();
    runs[info.name].push_back(*own);
    for (const ParameterSpec& spec : info.parameters) {
      if (choosing.count(spec.name) == 0) continue;
      for (const std::string& word : spec.words) {
        EXPECT_TRUE(std::any_of(runs[info.name].begin(), runs[info.name].end(),
                                [&](const ParameterMap& run) { return run.at(spec.name) == word; }))
            << info.name << " " << spec.name << "=" << word << " is in no line";
      }
    }
  }
}

}  // namespace
}  // namespace assay
