// Finds conditions that changed together with the performance of a case.
#pragma once

#include "assay/v1/analysis.pb.h"
#include "common/status.h"
#include "coordinator/core/environment.h"

namespace assay::coordinator {

// Sets one.explanations, which list what else changed between the last runs before the regression
// and the first runs after it. Blocks on the database.
Status ExplainRegression(const Environment& environment, v1::Regression& one);

}  // namespace assay::coordinator
