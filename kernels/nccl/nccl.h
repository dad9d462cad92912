// What this folder offers to builtin.cc.
#pragma once

#include <memory>

#include "kernels/benchmark.h"

namespace assay {

std::unique_ptr<Benchmark> NewAllReduce();

}  // namespace assay
