// Converts a benchmark's declared parameters to the specs of model/parameter.h. The coordinator,
// the agent and the CLI all check parameter values against these specs, so they accept the same
// values.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/benchmark.pb.h"
#include "assay/v1/session.pb.h"
#include "common/status.h"
#include "model/parameter.h"

namespace assay::schema {

// Returns the specs of a benchmark's parameters, in declaration order. If the schema, which may
// come from another machine, is invalid, returns INVALID_ARGUMENT with reason INVALID_SCHEMA and
// the name of the invalid parameter.
Result<std::vector<ParameterSpec>> ParameterSpecs(const v1::BenchmarkSchema& schema);

// Returns the canonical and complete parameters of one case; see CanonicalParameters.
Result<ParameterMap> CompleteParameters(const v1::BenchmarkSchema& schema,
                                        const ParameterMap& given);

// Returns a hash of a node's benchmark schemas. Nodes with the same hash share one stored copy of
// the schemas; see Hello.schemas_hash.
std::string SchemasHash(const v1::Schemas& schemas);

// Returns INVALID_ARGUMENT if no hardware counters can be read for the benchmark's cases.
Status CheckCounters(const v1::BenchmarkSchema& schema);

}  // namespace assay::schema
