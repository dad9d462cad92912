// The parts of the program that depend on how it was built: its benchmarks, the GPU platform and
// NCCL's log.
#include <memory>
#include <utility>

#include "host/gpu_platform.h"
#include "kernels/cpu/blas.h"
#include "kernels/declaration.h"
#include "kernels/registry.h"

#if ASSAY_HAVE_CUDA
#include "kernels/cuda/frame/cuda.h"
#endif
#if ASSAY_HAVE_NCCL
#include "kernels/nccl/nccl_library.h"
#include "kernels/nccl/nccl_log.h"
#endif

namespace assay {

using NewCase = Result<std::unique_ptr<Case>>(const RunContext&);

// Declares the functions that each line of benchmarks.inc names.
#define ASSAY_BENCHMARK(name)      \
  Declaration name##Declaration(); \
  NewCase New##name##Case;
#define ASSAY_CUDA_BENCHMARK ASSAY_BENCHMARK
#define ASSAY_NCCL_BENCHMARK ASSAY_BENCHMARK
#include "kernels/benchmarks.inc"
#undef ASSAY_BENCHMARK
#undef ASSAY_CUDA_BENCHMARK
#undef ASSAY_NCCL_BENCHMARK

namespace {

// Returns the reason why this node cannot use the library, or an empty text if it can.
std::string WhyNo(Library library) {
  switch (library) {
    case Library::kBlas:
      return WhyNoBlas();
    case Library::kCublasLt:
#if ASSAY_HAVE_CUDA
      return WhyNoCublasLt();
#else
      break;
#endif
    case Library::kNccl:
#if ASSAY_HAVE_NCCL
      return WhyNoNccl();
#else
      break;
#endif
  }
  return "";
}

// Returns the reason why this node cannot run the benchmark, or an empty text if it can.
std::string WhyUnsupported(const BenchmarkInfo& info) {
  std::string why;
#if ASSAY_HAVE_CUDA
  if (info.resource == Resource::kGpu) why = WhyNoGpu();
#endif
  for (const Library library : info.libraries) {
    if (why.empty()) why = WhyNo(library);
  }
  return why;
}

[[maybe_unused]] std::string BuildHasNoCuda(const BenchmarkInfo&) {
  return "needs a CUDA GPU; this build has no CUDA";
}

[[maybe_unused]] std::string BuildHasNoNccl(const BenchmarkInfo&) {
  return "needs NCCL; this build has none";
}

Registry MakeRegistry() {
  Registry registry;
  const auto add = [&registry](Declaration declaration, NewCase* new_case,
                               DeclaredBenchmark::ReasonFunction unsupported) {
    registry.Add(
        std::make_unique<DeclaredBenchmark>(std::move(declaration), new_case, unsupported));
  };
#define ASSAY_BENCHMARK(name) add(name##Declaration(), New##name##Case, WhyUnsupported);
#if ASSAY_HAVE_CUDA
#define ASSAY_CUDA_BENCHMARK ASSAY_BENCHMARK
#else
#define ASSAY_CUDA_BENCHMARK(name) add(name##Declaration(), nullptr, BuildHasNoCuda);
#endif
#if ASSAY_HAVE_NCCL
#define ASSAY_NCCL_BENCHMARK ASSAY_BENCHMARK
#else
#define ASSAY_NCCL_BENCHMARK(name) add(name##Declaration(), nullptr, BuildHasNoNccl);
#endif
#include "kernels/benchmarks.inc"
#undef ASSAY_BENCHMARK
#undef ASSAY_CUDA_BENCHMARK
#undef ASSAY_NCCL_BENCHMARK
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
