#include "kernels/registry.h"

#include <cassert>

#include "common/text.h"
#include "model/parameter.h"

namespace assay {

void Registry::Add(std::unique_ptr<Benchmark> benchmark) {
  assert(!Find(benchmark->Info().name).ok() && "two benchmarks have one name");
  benchmarks_.push_back(std::move(benchmark));
}

Result<const Benchmark*> Registry::Find(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& benchmark : benchmarks_) {
    if (benchmark->Info().name == name) return benchmark.get();
    names.push_back(benchmark->Info().name);
  }
  const std::string closest = ClosestName(name, names);
  std::string known;
  for (const std::string& other : names) known += (known.empty() ? "" : ", ") + other;
  return NotFound("no benchmark is called \"" + std::string(name.substr(0, 64)) + "\"",
                  Reason::kUnknownBenchmark)
      .WithHint(closest.empty() ? "there are " + known : "did you mean \"" + closest + "\"?");
}

}  // namespace assay
