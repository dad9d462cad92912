// Names of the GPU kernels that an iteration launches.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay {

// Runs `iterate`, which waits for its work, once while CUPTI records it. Returns the kernels that
// ran on the GPU `ordinal` without duplicates, in order of their first launch, named by
// ShortKernelName. Errors are CUPTI's or those of `iterate`.
Result<std::vector<std::string>> RecordKernelNames(int ordinal,
                                                   const std::function<Status()>& iterate);

}  // namespace assay
