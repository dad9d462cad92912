// The GPU kernels that an iteration launches, by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/status.h"

namespace assay {

// Runs `iterate`, which waits for its work, once under CUPTI's eyes and returns the
// kernels that ran on the GPU `ordinal`, each once, in order of their first launch,
// named by ShortKernelName. Errors are CUPTI's or those of `iterate`.
Result<std::vector<std::string>> RecordKernelNames(int ordinal,
                                                   const std::function<Status()>& iterate);

}  // namespace assay
