// NCCL's environment variables in a campaign: which are sound, and which a job gets.
#pragma once

#include <map>
#include <string>

#include "assay/v1/benchmark.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "common/violations.h"

namespace assay::coordinator {

using NcclSettings = std::map<std::string, std::string>;

// Judges the campaign's own settings: each variable and value, whether they contradict each
// other, and whether any benchmark of the campaign is a collective of GPUs. `schemas` are
// the fleet's, by name.
void CheckNcclOf(const v1::CampaignSpec& spec,
                 const std::map<std::string, v1::BenchmarkSchema>& schemas, Violations& violations);

// Judges those of the entry `matrix` at `path`, also together with the campaign's.
void CheckNcclOf(const v1::CampaignSpec& spec, const v1::BenchmarkMatrix& matrix,
                 const v1::BenchmarkSchema& schema, const std::string& path,
                 Violations& violations);

// What a job of the entry gets: nothing unless it is a collective of GPUs, else the
// campaign's settings, each replaced by the entry's.
NcclSettings NcclOf(const v1::CampaignSpec& spec, const v1::BenchmarkMatrix& matrix,
                    const v1::BenchmarkSchema& schema);

}  // namespace assay::coordinator
