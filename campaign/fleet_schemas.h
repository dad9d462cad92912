// The benchmarks of a fleet.
#pragma once

#include <functional>
#include <vector>

#include "assay/v1/benchmark.pb.h"
#include "assay/v1/node_service.pb.h"

namespace assay::campaign {

// Returns one version of each benchmark, sorted by name. Considers only the nodes for which
// `counts` returns true, and chooses the version that most of these nodes can run, so that a single
// new, old or hostile node cannot exclude the others. If two versions have equally many nodes,
// returns the version of the node that joined first, or the newer one if that is equal too. Clears
// `unsupported_reason`, which describes a single node. Skips malformed schemas.
std::vector<v1::BenchmarkSchema> FleetSchemas(const std::vector<v1::Node>& nodes,
                                              const std::function<bool(const v1::Node&)>& counts);

}  // namespace assay::campaign
