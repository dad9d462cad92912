// Decides whether a job is retried after a failed attempt, and on which nodes.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/failure.pb.h"
#include "storage/types.h"

namespace assay::coordinator {

// The limit against which a retry counts.
enum class Budget {
  kNone,            // There is no retry.
  kRetries,         // The campaign's `retries`.
  kInfrastructure,  // kInfrastructureRetries.
};

// The consequences of a failure of one class. The documentation prints a table of these rules.
struct RetryRule {
  v1::FailureClass failure_class = v1::FAILURE_CLASS_UNSPECIFIED;
  Budget budget = Budget::kNone;
  const char* next = "";    // What happens to the job.
  const char* action = "";  // What the user does.
};
const std::vector<RetryRule>& RetryRules();

// Maximum number of retries of a job after failures of Assay itself and planned interruptions, such
// as agent upgrades.
inline constexpr size_t kInfrastructureRetries = 20;

struct RetryDecision {
  // One of kRequeue, kFailed and kCancelled.
  storage::Disposition disposition = storage::Disposition::kFailed;
  std::vector<std::string> avoid_node_ids;
  Duration delay{0};
  bool same_nodes = false;  // See storage::FinishedAttempt.
};

// Decides whether and where to retry a job after `failure`. A cancelled job is not retried.
// Otherwise, the decision depends on the class of the failure:
//   USER            no retry, because the user must change something first
//   INFRASTRUCTURE  retry, if possible not on nodes at fault in earlier attempts
//   NODE            retry, if possible not on nodes at fault in this or earlier attempts
//   JOB             retry on the same nodes, then once on other nodes if there are enough
// The campaign's `retries` limits retries after failures of the classes NODE and JOB, and
// kInfrastructureRetries limits those after INFRASTRUCTURE failures. Retries are delayed by 1 to
// 30 s if there are too few other nodes, or after repeated INFRASTRUCTURE failures. `also` lists
// further nodes at fault that `failure` does not name.
RetryDecision DecideRetry(const storage::LeasedJob& job, const v1::Failure& failure,
                          const std::vector<std::string>& also = {});

}  // namespace assay::coordinator
