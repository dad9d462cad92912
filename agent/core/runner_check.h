// Asks the runner, which alone knows the benchmarks, whether parameters are compatible.
#pragma once

#include <string>

#include "common/clock.h"
#include "common/status.h"
#include "model/parameter.h"

namespace assay::agent {

// Returns INVALID_ARGUMENT with the message of `runner check` if `parameters` of `benchmark`
// contradict each other. Returns OK if they do not, or if the runner does not answer within
// `timeout`. Blocks.
Status CheckParameters(const std::string& runner, const std::string& benchmark,
                       const ParameterMap& parameters, Duration timeout);

}  // namespace assay::agent
