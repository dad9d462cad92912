// Decides whether a job is retried after a failed attempt, and on which nodes.
#pragma once

#include "assay/v1/failure.pb.h"
#include "storage/types.h"

namespace assay::coordinator {

struct RetryDecision {
  // One of kRequeue, kFailed and kCancelled.
  storage::Disposition disposition = storage::Disposition::kFailed;
  std::vector<std::string> avoid_node_ids;
  Duration delay{0};
  bool same_nodes = false;  // As of storage::FinishedAttempt.
};

// Decides whether and where a job is retried. This depends on the class of `failure`:
//   cancelled       no retry, because the user cancelled the job
//   USER            no retry, because the user must change something first
//   INFRASTRUCTURE  retry, and avoid the nodes at fault in earlier attempts if possible
//   NODE            retry, and also avoid the nodes at fault in this attempt
//   JOB             retry on the same nodes, then once on other nodes if there are enough
// The campaign limits the number of retries. A retry waits 1 to 30 s if there are too few other
// nodes. `also` lists nodes at fault that `failure` does not name.
RetryDecision DecideRetry(const storage::LeasedJob& job, const v1::Failure& failure,
                          const std::vector<std::string>& also = {});

}  // namespace assay::coordinator
