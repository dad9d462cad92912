// Makes the message that assigns an agent its part of a job.
#pragma once

#include <functional>
#include <string>

#include "assay/v1/session.pb.h"
#include "common/clock.h"
#include "storage/types.h"

namespace assay::coordinator {

// Returns the Assign message that gives the agent of `node_id` its part of a job: the ranks
// (processes of the job) that this agent must start, and the cases (single measurements) that do
// not have a result yet. Ranks are numbered node by node, and every node has the same number of
// ranks.
v1::Assign MakeAssign(const storage::LeasedJob& job, const std::string& node_id, Duration lease,
                      const std::function<std::string(const std::string& node_id)>& name_of);

// Returns true if every case of the job has a result already.
bool NothingLeft(const storage::LeasedJob& job);

}  // namespace assay::coordinator
