// The two forms of nccl-tests' output.
#pragma once

#include <string_view>
#include <vector>

#include "common/status.h"
#include "cli/imports/nccl_run.h"

namespace assay::imports {

// At least one run, each complete and in agreement with its summary.
Result<std::vector<NcclRun>> ReadNcclText(std::string_view text);
Result<std::vector<NcclRun>> ReadNcclJson(std::string_view text);

}  // namespace assay::imports
