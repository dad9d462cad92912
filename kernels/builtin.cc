// The one list of benchmarks. Adding a benchmark adds its declaration and a line.
#include <memory>
#include <utility>

#include "kernels/cpu/cpu.h"
#include "kernels/net/net.h"
#include "kernels/platform.h"
#include "kernels/registry.h"

#if ASSAY_HAVE_CUDA
#include "kernels/cuda/cuda.h"
#endif
#if ASSAY_HAVE_NCCL
#include "kernels/nccl/nccl.h"
#include "kernels/nccl/nccl_library.h"
#include "kernels/nccl/nccl_log.h"
#endif

namespace assay {
namespace {

Registry MakeRegistry() {
  Registry registry;
  registry.Add(NewCpuGemm());
  registry.Add(NewCpuMemoryBandwidth());
  registry.Add(NewCpuVectorSum());
  registry.Add(NewTcpAllReduce());
  registry.Add(NewTcpBandwidth());
  registry.Add(NewTcpLatency());
#if ASSAY_HAVE_CUDA
  registry.Add(NewAttention());
  registry.Add(NewGemm());
  registry.Add(NewSustained());
  registry.Add(NewGemv());
  registry.Add(NewInt4Gemm());
  registry.Add(NewMatmulNaive());
  registry.Add(NewMatmulTiled());
  registry.Add(NewMatmulRegister());
  registry.Add(NewMatmulMma());
  registry.Add(NewMatmulWgmma());
  registry.Add(NewMemoryBandwidth());
  registry.Add(NewVectorAdd());
  registry.Add(NewElementwiseMul());
  registry.Add(NewRelu());
  registry.Add(NewSoftmax());
  registry.Add(NewLayerNorm());
  registry.Add(NewRmsNorm());
  registry.Add(NewPointerChase());
  registry.Add(NewCoalescing());
  registry.Add(NewBankConflict());
  registry.Add(NewDivergence());
  registry.Add(NewOccupancy());
  registry.Add(NewLaunchOverhead());
  registry.Add(NewCacheBandwidth());
  registry.Add(NewHostTransfer());
  registry.Add(NewHostLatency());
  registry.Add(NewPeerTransfer());
  registry.Add(NewPeerLatency());
#endif
#if ASSAY_HAVE_NCCL
  for (auto& benchmark : NewCollectives()) registry.Add(std::move(benchmark));
  registry.Add(NewRingAllReduce());
  registry.Add(NewOverlap());
#endif
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
