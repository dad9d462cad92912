// Accepts results from agents. Checks each result against the job to which it claims to belong,
// stores results in batches, and acknowledges them.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/session.pb.h"
#include "coordinator/core/attempts/attempts.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/environment.h"

namespace assay::coordinator {

// Explains why a result that `node_id` sent for `job` is invalid, or returns an empty string if it
// is valid. A result is invalid if the node does not run this job, if the case or its parameters
// are not the job's, if a successful case has not passed verification, or if a number is not
// finite.
std::string WhyMalformed(const storage::LeasedJob& job, const std::string& node_id,
                         const v1::CaseResult& result);

// Thread-safe; blocks on the database.
class ResultIntake {
 public:
  using OnStored = std::function<void(const std::string& campaign_id)>;

  // `on_stored` is called once for each campaign that got new results.
  ResultIntake(const Environment& environment, RunningJobs& running, Attempts& attempts,
               OnStored on_stored);

  // Stores results and returns one acknowledgement for each, in the same order. If it returns
  // UNAVAILABLE, some of the results may have been stored, so call it again with all of them.
  Result<std::vector<v1::ResultAck>> Take(const std::string& node_id,
                                          const std::vector<v1::CaseResult>& results);

 private:
  const Environment& environment_;
  RunningJobs& running_;
  Attempts& attempts_;
  const OnStored on_stored_;
};

}  // namespace assay::coordinator
