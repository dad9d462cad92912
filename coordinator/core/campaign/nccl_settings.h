// NCCL's environment variables in a campaign: checks them and selects those that a job gets.
#pragma once

#include <map>
#include <string>

#include "assay/v1/benchmark.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "common/violations.h"

namespace assay::coordinator {

using NcclSettings = std::map<std::string, std::string>;

// Checks the campaign's own settings: each variable and value, and whether any benchmark of
// the campaign is a collective of GPUs. `schemas` holds the fleet's schemas by name.
void CheckNcclOf(const v1::CampaignSpec& spec,
                 const std::map<std::string, v1::BenchmarkSchema>& schemas, Violations& violations);

// Checks the settings of the entry `matrix` at `path`.
void CheckNcclOf(const v1::CampaignSpec& spec, const v1::BenchmarkMatrix& matrix,
                 const v1::BenchmarkSchema& schema, const std::string& path,
                 Violations& violations);

// Returns the settings of a job of this entry: the campaign's, each replaced by the entry's if it
// has one. Empty unless the benchmark is a collective of GPUs.
NcclSettings NcclOf(const v1::CampaignSpec& spec, const v1::BenchmarkMatrix& matrix,
                    const v1::BenchmarkSchema& schema);

}  // namespace assay::coordinator
