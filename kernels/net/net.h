// The benchmarks of the network between nodes.
#pragma once

#include <memory>

#include "kernels/benchmark.h"

namespace assay {

// Streams of bytes between two nodes over TCP.
std::unique_ptr<Benchmark> NewTcpBandwidth();
// A message there and back.
std::unique_ptr<Benchmark> NewTcpLatency();
// Ring all-reduce of fp32 over TCP.
std::unique_ptr<Benchmark> NewTcpAllReduce();

}  // namespace assay
