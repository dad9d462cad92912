// The benchmarks of the host's CPUs.
#pragma once

#include <memory>

#include "kernels/benchmark.h"

namespace assay {

// Matrix product by OpenBLAS.
std::unique_ptr<Benchmark> NewCpuGemm();

// STREAM's four loops.
std::unique_ptr<Benchmark> NewCpuMemoryBandwidth();

// The sum of an array.
std::unique_ptr<Benchmark> NewCpuVectorSum();

}  // namespace assay
