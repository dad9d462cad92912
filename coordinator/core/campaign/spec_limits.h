// Bounds and defaults of a spec's campaign-wide fields.
#pragma once

#include "assay/v1/campaign_service.pb.h"
#include "common/clock.h"
#include "common/violations.h"

namespace assay::coordinator {

// Adds errors of name, repetitions, timeout, retries, priority and the enums to `violations`.
void CheckCampaignFields(const v1::CampaignSpec& spec, Violations& violations);

// Returns the line of a campaign-wide field; 0 if unknown.
int LineOf(const v1::CampaignSpec& spec, const std::string& field);

// Returns the job's wall-clock limit; 20 minutes by default.
Duration TimeoutOf(const v1::CampaignSpec& spec);

// Returns the number of repetitions; 1 by default.
int RepetitionsOf(const v1::CampaignSpec& spec);

}  // namespace assay::coordinator
