// The benchmarks of the network between nodes.
#pragma once

#include <memory>

#include "kernels/benchmark.h"

namespace assay {

// Ring all-reduce of fp32 over TCP.
std::unique_ptr<Benchmark> NewTcpAllReduce();

}  // namespace assay
