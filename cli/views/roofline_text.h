// What `assay benchmark show` says of predictions. Pure.
#pragma once

#include <string>

#include "assay/v1/benchmark.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// How the benchmark's times are predicted, which spec sheets are yet to be checked, and the
// published figures that its results can be compared with; whole lines.
std::string RooflineText(const v1::BenchmarkSchema& schema, const Style& style);

}  // namespace assay::cli
