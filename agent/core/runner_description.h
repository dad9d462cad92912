// Asks the installed runner at start which benchmarks it has.
#pragma once

#include <string>

#include "assay/v1/runner.pb.h"
#include "common/clock.h"
#include "common/status.h"

namespace assay::agent {

// Runs `runner describe` and returns its answer. The error says why there is none: not installed,
// crashed (with the end of its output), too slow, or not a description.
Result<v1::RunnerDescription> DescribeRunner(const std::string& runner, Duration timeout);

}  // namespace assay::agent
