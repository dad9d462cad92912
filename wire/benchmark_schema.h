// Converts the parameters of a BenchmarkSchema to the specs of model/parameter.h, with which
// coordinator, agent and CLI check values alike.
#pragma once

#include <vector>

#include "assay/v1/benchmark.pb.h"
#include "common/status.h"
#include "model/parameter.h"

namespace assay::schema {

// Returns the specs in the order declared. Schemas come from peers and are checked:
// INVALID_ARGUMENT (INVALID_SCHEMA) names the parameter that makes no sense.
Result<std::vector<ParameterSpec>> ParameterSpecs(const v1::BenchmarkSchema& schema);

// Returns the canonical and complete parameters of one case; see CanonicalParameters.
Result<ParameterMap> CompleteParameters(const v1::BenchmarkSchema& schema,
                                        const ParameterMap& given);

// Checks that hardware counters can be read for the benchmark's cases, else INVALID_ARGUMENT.
Status CheckCounters(const v1::BenchmarkSchema& schema);

}  // namespace assay::schema
