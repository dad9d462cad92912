// Finds conditions that changed together with the performance of a case.
#pragma once

#include "assay/v1/analysis.pb.h"
#include "common/status.h"
#include "coordinator/core/environment.h"

namespace assay::coordinator {

// Sets one.explanations from the stored conditions of the runs before and after its step. Blocks on
// the database.
Status ExplainRegression(const Environment& environment, v1::Regression& one);

}  // namespace assay::coordinator
