// Whether a failed attempt gets another try, and where.
#pragma once

#include "assay/v1/failure.pb.h"
#include "storage/types.h"

namespace assay::coordinator {

struct RetryDecision {
  // kRequeue, kFailed or kCancelled.
  storage::Disposition disposition = storage::Disposition::kFailed;
  std::vector<std::string> avoid_node_ids;
  Duration delay{0};
  bool same_nodes = false;  // As of storage::FinishedAttempt.
};

// Judges `failure` of the attempt that `job` is in:
//   cancelled       the job has a cancel request, or the reason is CANCELLED
//   USER            never retried
//   INFRASTRUCTURE  retried within the campaign's budget
//   NODE            the same, without the nodes at fault in this attempt
//                   Both avoid the nodes at fault in earlier attempts, if there are others
//   JOB             within the budget: the first time on the same nodes, the second
//                   time on others; never a third time, nor if there are no others
// A retry that can only go to the same nodes waits first: 1 s, doubled each time, at most 30 s.
//
// `also` are nodes at fault besides the one that the failure names. They are avoided as far as
// enough others are left.
RetryDecision DecideRetry(const storage::LeasedJob& job, const v1::Failure& failure,
                          const std::vector<std::string>& also = {});

}  // namespace assay::coordinator
