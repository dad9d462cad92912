// Corrects results using facts known to the coordinator itself. Only the measurements are taken
// from the node that sent the result. Identity, location, hardware and cost come from the
// description of the node and from the job's allocation.
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

// Checks that a result contains only metrics that its node has declared for the benchmark, with the
// same name, unit and direction. Returns the error, or an empty string.
std::string WhyOtherMetrics(const v1::Schemas& schemas, const v1::CaseResult& result);

// Checks that the numbers in a result's prediction are finite and not negative, and that its
// efficiency is consistent with the predicted and measured times. Returns the error, or an empty
// string.
std::string WhyImpossible(const v1::CaseResult& result);

// Replaces the origin and hardware in a result from `sender`, a node of `job`, with what the
// coordinator knows about them. Keeps what only the node can know: library versions, the power
// limit, and the clocks during the measurement. Limits times to the duration of the attempt, which
// ends at `now`.
void SetFacts(const storage::LeasedJob& job, const JobNodes& nodes,
              const v1::NodeDescription& sender, WallTime now, v1::CaseResult* result);

}  // namespace assay::coordinator
