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

// Decides whether a job is retried after `failure`, and on which nodes:
//   cancelled       the user cancelled the job: never
//   USER            the user must change something: never
//   INFRASTRUCTURE  yes, preferably not on nodes at fault in earlier attempts
//   NODE            the same, and never on the nodes at fault in this attempt
//   JOB             first on the same nodes, then once on other nodes if there are enough
// Every retry counts against the campaign's limit. It waits 1 to 30 s if too few nodes are left to
// avoid all nodes at fault. `also` lists nodes at fault that `failure` does not name.
RetryDecision DecideRetry(const storage::LeasedJob& job, const v1::Failure& failure,
                          const std::vector<std::string>& also = {});

}  // namespace assay::coordinator
