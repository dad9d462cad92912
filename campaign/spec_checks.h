// Checks the fields of a campaign that do not depend on its nodes or benchmark cases, and returns
// their values or defaults.
#pragma once

#include <map>
#include <string>

#include "assay/v1/benchmark.pb.h"
#include "assay/v1/campaign_service.pb.h"
#include "common/clock.h"
#include "common/violations.h"

namespace assay::campaign {

// The fleet's benchmarks by name.
using Schemas = std::map<std::string, v1::BenchmarkSchema>;
using NcclSettings = std::map<std::string, std::string>;

// Checks the campaign-wide fields and adds their errors to `violations`.
void CheckCampaignFields(const v1::CampaignSpec& spec, const Schemas& schemas,
                         Violations& violations);

// Checks the fields `gpus`, `counters` and `nccl` of one benchmark entry, and adds any errors to
// `violations`. `path` is the entry's path in the campaign file.
void CheckEntryFields(const v1::CampaignSpec& spec, const v1::BenchmarkMatrix& matrix,
                      const v1::BenchmarkSchema& schema, const std::string& path,
                      Violations& violations);

// Returns the campaign's policy for absent nodes. The default is FAIL if the campaign has accept
// rules (limits for its results), and WARN otherwise.
v1::AbsentPolicy AbsentPolicyOf(const v1::CampaignSpec& spec);

// Returns the line of a campaign-wide field in the campaign file, or 0 if unknown.
int LineOf(const v1::CampaignSpec& spec, const std::string& field);

// Returns the job's wall-clock limit; 20 minutes by default.
Duration TimeoutOf(const v1::CampaignSpec& spec);

// Returns the number of repetitions; 1 by default.
int RepetitionsOf(const v1::CampaignSpec& spec);

// Returns the NCCL environment variables for the jobs of one benchmark entry. Variables set by the
// entry override those of the whole campaign. Returns an empty map unless the benchmark is a GPU
// collective.
NcclSettings NcclOf(const v1::CampaignSpec& spec, const v1::BenchmarkMatrix& matrix,
                    const v1::BenchmarkSchema& schema);

}  // namespace assay::campaign
