// Finds the names of the GPU kernels that an iteration launches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay {

// Runs `iterate` while CUPTI records kernels. `iterate` must wait for the work that it launches.
// Returns the names of the kernels that ran on GPU `ordinal`, shortened by ShortKernelName() and
// without duplicates, in order of their first launch. Errors come from CUPTI or `iterate`.
Result<std::vector<std::string>> RecordKernelNames(int ordinal,
                                                   const std::function<Status()>& iterate);

}  // namespace assay
