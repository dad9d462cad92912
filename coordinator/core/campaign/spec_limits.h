// The campaign-wide fields of a spec: their bounds and defaults.
#pragma once

#include "assay/v1/campaign_service.pb.h"
#include "common/clock.h"
#include "common/violations.h"

namespace assay::coordinator {

// Faults of name, repetitions, timeout, retries, priority and the enums.
void CheckCampaignFields(const v1::CampaignSpec& spec, Violations& violations);

// The line of a campaign-wide field; 0 if unknown.
int LineOf(const v1::CampaignSpec& spec, const std::string& field);

// The job's wall-clock limit; 20 minutes if none is given.
Duration TimeoutOf(const v1::CampaignSpec& spec);

// 1 if none is given.
int RepetitionsOf(const v1::CampaignSpec& spec);

}  // namespace assay::coordinator
