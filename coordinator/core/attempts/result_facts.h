// Corrects results by what the coordinator itself knows. Only the measurements are taken from the
// node. Its identity, location, hardware and cost come from its description and the job's
// allocation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "assay/v1/inventory.pb.h"
#include "assay/v1/result.pb.h"
#include "storage/types.h"

namespace assay::coordinator {

// The nodes of a job, in rank order.
using JobNodes = std::vector<std::shared_ptr<const v1::NodeDescription>>;

// Returns the error in a result's metrics: they must be those of the benchmark as the node declares
// it, by name, unit and direction. Empty if there is none.
std::string WhyOtherMetrics(const v1::Schemas& schemas, const v1::CaseResult& result);

// Returns the error in a result's prediction: its numbers must be finite and positive, and an
// efficiency must follow from the predicted and the measured time. Empty if there is none.
std::string WhyImpossible(const v1::CaseResult& result);

// Replaces what `sender`, a node of `job`, says about its provenance and its hardware by what the
// coordinator knows. Leaves what only the node can know: versions of libraries, the power limit and
// clocks during the measurement. Moves times into the attempt, which lasts until `now`.
void SetFacts(const storage::LeasedJob& job, const JobNodes& nodes,
              const v1::NodeDescription& sender, WallTime now, v1::CaseResult* result);

}  // namespace assay::coordinator
