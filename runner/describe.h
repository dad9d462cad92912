// The declarations of all benchmarks as messages, for `assay-runner describe`.
#pragma once

#include "assay/v1/runner.pb.h"
#include "kernels/registry.h"

namespace assay {

v1::RunnerDescription DescribeBenchmarks(const Registry& registry);

}  // namespace assay
