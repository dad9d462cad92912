// Describes how a benchmark is predicted, for `assay benchmark show`. No I/O.
#pragma once

#include <string>

#include "assay/v1/benchmark.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Describes how Assay predicts the execution time of a benchmark. Also lists the published
// measurements that results can be compared with, and the GPU spec sheets that have not been
// checked against the vendor's data sheets.
std::string RooflineText(const v1::BenchmarkSchema& schema, const Style& style);

}  // namespace assay::cli
