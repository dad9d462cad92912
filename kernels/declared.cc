// The declarations of all benchmarks, without the code that runs them.
#include <memory>

#include "kernels/declaration.h"
#include "kernels/registry.h"

namespace assay {

#define ASSAY_BENCHMARK(name) Declaration name##Declaration();
#define ASSAY_CUDA_BENCHMARK ASSAY_BENCHMARK
#define ASSAY_NCCL_BENCHMARK ASSAY_BENCHMARK
#include "kernels/benchmarks.inc"
#undef ASSAY_BENCHMARK

const Registry& DeclaredBenchmarks() {
  static const Registry registry = [] {
    Registry declared;
#define ASSAY_BENCHMARK(name)                       \
  declared.Add(std::make_unique<DeclaredBenchmark>( \
      name##Declaration(), nullptr, [](const BenchmarkInfo&) { return std::string(); }));
#include "kernels/benchmarks.inc"
#undef ASSAY_BENCHMARK
#undef ASSAY_CUDA_BENCHMARK
#undef ASSAY_NCCL_BENCHMARK
    return declared;
  }();
  return registry;
}

}  // namespace assay
