// Whether parameters go together, asked of the runner, which alone knows the benchmarks.
#pragma once

#include <string>

#include "common/clock.h"
#include "model/parameter.h"
#include "common/status.h"

namespace assay::agent {

// INVALID_ARGUMENT with what `runner check` says if `parameters` of `benchmark` contradict each
// other. OK if they do not, and if the runner does not tell within `timeout`. Waits for it.
Status CheckParameters(const std::string& runner, const std::string& benchmark,
                       const ParameterMap& parameters, Duration timeout);

}  // namespace assay::agent
