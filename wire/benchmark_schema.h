// What a benchmark accepts, from the wire's form (BenchmarkSchema) to the form that
// model/parameter.h checks values with. Coordinator and agent judge parameters
// alike because both go through here.
#pragma once

#include <vector>

#include "assay/v1/benchmark.pb.h"
#include "model/parameter.h"
#include "common/status.h"

namespace assay::schema {

// Specs in the order declared. INVALID_ARGUMENT names the parameter that makes no
// sense: no name, an unknown type, a name twice, a word without choices, bounds the
// wrong way round, a default that its own spec refuses, or a tie to what ties nothing. Schemas come
// from peers, so none is used unchecked.
Result<std::vector<ParameterSpec>> ParameterSpecs(const v1::BenchmarkSchema& schema);

// The canonical, complete parameters of one case: values checked and defaults filled
// in. The error has one violation a fault, `field` being the parameter's name.
Result<ParameterMap> CompleteParameters(const v1::BenchmarkSchema& schema,
                                        const ParameterMap& given);

// OK if hardware counters are read of the benchmark's cases; else INVALID_ARGUMENT that says of
// which they are.
Status CheckCounters(const v1::BenchmarkSchema& schema);

}  // namespace assay::schema
