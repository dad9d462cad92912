// Compares histories of one case.
#pragma once

#include <vector>

#include "analysis/comparison.h"
#include "assay/v1/analysis.pb.h"
#include "coordinator/core/judging/histories.h"

namespace assay::coordinator {

// The two sides of a comparison, with the histories of one case. Each history must have runs.
struct CaseSides {
  std::vector<const History*> a, b;
};

analysis::Comparison CompareCase(const CaseSides& sides, const analysis::ComparisonRule& rule);

v1::CaseComparison ComparisonMessage(const CaseSides& sides, const analysis::Comparison& compared);

}  // namespace assay::coordinator
