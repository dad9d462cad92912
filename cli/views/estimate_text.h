// Texts about how long a campaign takes and what that costs.
#pragma once

#include <string>

#include "assay/v1/campaign_service.pb.h"
#include "cli/views/table.h"

namespace assay::cli {

// Describes the remaining time of a campaign, for example "about 12 min left, from earlier runs of
// 40 cases". Subtracts `age_seconds`, the age of the estimate.
std::string TimeLeftText(const v1::Estimate& estimate, double age_seconds);

// Describes how long a campaign would take and what it would cost, followed by a table of up to 20
// of its nodes. Mentions nodes with an unknown price.
std::string EstimateText(const v1::Estimate& estimate, const Style& style);

}  // namespace assay::cli
