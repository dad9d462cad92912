// Describes how a benchmark is predicted, for `assay benchmark show`. Pure.
#pragma once

#include <string>

#include "assay/v1/benchmark.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Returns lines that say how the benchmark's times are predicted, which spec sheets have not been
// checked, and which published figures its results can be compared with.
std::string RooflineText(const v1::BenchmarkSchema& schema, const Style& style);

}  // namespace assay::cli
