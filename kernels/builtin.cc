// What this build has: the benchmarks of benchmarks.inc, the GPU platform, NCCL's log.
#include <memory>

#include "host/platform.h"
#include "kernels/registry.h"

#if ASSAY_HAVE_CUDA
#include "kernels/cuda/frame/cuda.h"
#endif
#if ASSAY_HAVE_NCCL
#include "kernels/nccl/nccl_library.h"
#include "kernels/nccl/nccl_log.h"
#endif

namespace assay {

#define ASSAY_BENCHMARK(name) std::unique_ptr<Benchmark> New##name();
#include "kernels/benchmarks.inc"
#undef ASSAY_BENCHMARK

namespace {

Registry MakeRegistry() {
  Registry registry;
#define ASSAY_BENCHMARK(name) registry.Add(New##name());
#include "kernels/benchmarks.inc"
#undef ASSAY_BENCHMARK
  return registry;
}

std::unique_ptr<GpuPlatform> MakeGpuPlatform() {
#if ASSAY_HAVE_NCCL
  return NewCudaPlatform(NcclVersion);
#elif ASSAY_HAVE_CUDA
  return NewCudaPlatform(nullptr);
#else
  return nullptr;
#endif
}

}  // namespace

const Registry& BuiltinBenchmarks() {
  static const Registry registry = MakeRegistry();
  return registry;
}

std::string LibraryLog() {
#if ASSAY_HAVE_NCCL
  constexpr size_t kMaxBytes = size_t{16} << 10;
  return NcclLogTail(kMaxBytes);
#else
  return "";
#endif
}

GpuPlatform* Gpu() {
  static const std::unique_ptr<GpuPlatform> platform = MakeGpuPlatform();
  return platform.get();
}

}  // namespace assay
