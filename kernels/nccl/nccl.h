// What this folder offers to builtin.cc.
#pragma once

#include <memory>
#include <vector>

#include "kernels/benchmark.h"

namespace assay {

// all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, gather, scatter and
// send_recv.
std::vector<std::unique_ptr<Benchmark>> NewCollectives();
std::unique_ptr<Benchmark> NewRingAllReduce();
std::unique_ptr<Benchmark> NewOverlap();

}  // namespace assay
