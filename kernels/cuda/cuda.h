// What this folder offers to builtin.cc: the GPU platform and CUDA's benchmarks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kernels/benchmark.h"
#include "kernels/platform.h"

namespace assay {

std::unique_ptr<Benchmark> NewAttention();
std::unique_ptr<Benchmark> NewBankConflict();
std::unique_ptr<Benchmark> NewCacheBandwidth();
std::unique_ptr<Benchmark> NewCoalescing();
std::unique_ptr<Benchmark> NewDivergence();
std::unique_ptr<Benchmark> NewElementwiseMul();
std::unique_ptr<Benchmark> NewGemm();
std::unique_ptr<Benchmark> NewGemv();
std::unique_ptr<Benchmark> NewHostLatency();
std::unique_ptr<Benchmark> NewHostTransfer();
std::unique_ptr<Benchmark> NewInt4Gemm();
std::unique_ptr<Benchmark> NewLaunchOverhead();
std::unique_ptr<Benchmark> NewLayerNorm();
std::unique_ptr<Benchmark> NewMatmulMma();
std::unique_ptr<Benchmark> NewMatmulNaive();
std::unique_ptr<Benchmark> NewMatmulRegister();
std::unique_ptr<Benchmark> NewMatmulTiled();
std::unique_ptr<Benchmark> NewMatmulWgmma();
std::unique_ptr<Benchmark> NewMemoryBandwidth();
std::unique_ptr<Benchmark> NewOccupancy();
std::unique_ptr<Benchmark> NewPeerLatency();
std::unique_ptr<Benchmark> NewPeerTransfer();
std::unique_ptr<Benchmark> NewPointerChase();
std::unique_ptr<Benchmark> NewRelu();
std::unique_ptr<Benchmark> NewRmsNorm();
std::unique_ptr<Benchmark> NewSoftmax();
std::unique_ptr<Benchmark> NewSustained();
std::unique_ptr<Benchmark> NewVectorAdd();

// `nccl_version` tells NCCL's, which this folder does not know; it may be empty.
std::unique_ptr<GpuPlatform> NewCudaPlatform(
    std::function<std::optional<std::string>()> nccl_version);

}  // namespace assay
