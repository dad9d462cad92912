// Queries the installed runner program, because only the runner knows its benchmarks.
#pragma once

#include <string>

#include "assay/v1/runner.pb.h"
#include "common/clock.h"
#include "common/status.h"
#include "model/parameter.h"

namespace assay::agent {

// Runs `assay-runner describe` and returns its list of benchmarks. The error says whether the
// runner is not installed, has crashed, was too slow, or wrote invalid output. After a crash, the
// error also includes the end of the runner's output.
Result<v1::RunnerDescription> DescribeRunner(const std::string& runner, Duration timeout);

// Asks the runner program whether `parameters` of `benchmark` contradict each other. If so, returns
// INVALID_ARGUMENT with the runner's message. Otherwise returns OK, even if the runner does not
// respond within `timeout`. Blocks.
Status CheckParameters(const std::string& runner, const std::string& benchmark,
                       const ParameterMap& parameters, Duration timeout);

}  // namespace assay::agent
