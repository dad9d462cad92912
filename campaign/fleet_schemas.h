// The benchmarks of a fleet.
#pragma once

#include <functional>
#include <vector>

#include "assay/v1/benchmark.pb.h"
#include "assay/v1/node_service.pb.h"

namespace assay::campaign {

// Returns the schema of each benchmark in the fleet, sorted by name. If there are several versions,
// chooses the one that most nodes can run, so that a single new, old or hostile node cannot exclude
// the others. Considers only nodes for which `counts` returns true. Skips malformed schemas, and
// clears `unsupported_reason`, which describes a single node.
std::vector<v1::BenchmarkSchema> FleetSchemas(const std::vector<v1::Node>& nodes,
                                              const std::function<bool(const v1::Node&)>& counts);

}  // namespace assay::campaign
