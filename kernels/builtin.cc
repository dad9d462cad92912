// The one list of benchmarks. Adding a benchmark adds its declaration and a line.
#include <memory>

#include "kernels/cpu/cpu.h"
#include "kernels/platform.h"
#include "kernels/registry.h"

namespace assay {
namespace {

Registry MakeRegistry() {
  Registry registry;
  registry.Add(NewCpuGemm());
  registry.Add(NewCpuMemoryBandwidth());
  return registry;
}

std::unique_ptr<GpuPlatform> MakeGpuPlatform() { return nullptr; }

}  // namespace

const Registry& BuiltinBenchmarks() {
  static const Registry registry = MakeRegistry();
  return registry;
}

GpuPlatform* Gpu() {
  static const std::unique_ptr<GpuPlatform> platform = MakeGpuPlatform();
  return platform.get();
}

}  // namespace assay
