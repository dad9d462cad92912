// Finds the names of the GPU kernels that an iteration launches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay {

// Runs `iterate`, which must wait for the work it launches, while CUPTI records kernels. Returns
// the names of the kernels that ran on GPU `ordinal`, shortened by ShortKernelName, without
// duplicates and in the order of their first launch. Errors come from CUPTI or `iterate`.
Result<std::vector<std::string>> RecordKernelNames(int ordinal,
                                                   const std::function<Status()>& iterate);

}  // namespace assay
