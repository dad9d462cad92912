// Questions to the installed runner, which alone knows the benchmarks.
#pragma once

#include <string>

#include "assay/v1/runner.pb.h"
#include "common/clock.h"
#include "common/status.h"
#include "model/parameter.h"

namespace assay::agent {

// Runs `runner describe` and returns its answer: which benchmarks it has. The error says why there
// is none: not installed, crashed (with the end of its output), too slow, or not a description.
Result<v1::RunnerDescription> DescribeRunner(const std::string& runner, Duration timeout);

// Returns INVALID_ARGUMENT with the message of `runner check` if `parameters` of `benchmark`
// contradict each other. Returns OK if they do not, or if the runner does not answer within
// `timeout`. Blocks.
Status CheckParameters(const std::string& runner, const std::string& benchmark,
                       const ParameterMap& parameters, Duration timeout);

}  // namespace assay::agent
