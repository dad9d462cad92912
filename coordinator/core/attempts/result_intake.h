// Results on their way in: checked against the job that they claim to be of, stored in
// batches, acknowledged.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/session.pb.h"
#include "coordinator/core/attempts/attempts.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/environment.h"

namespace assay::coordinator {

// Returns the error in a result of `job` from `node_id`, for the agent's log; empty if there is
// none. A result is rejected if its node takes no part in the job, its case or parameters are not
// the job's, it claims success without a passed verification, or a number in it is not finite.
std::string WhyMalformed(const storage::LeasedJob& job, const std::string& node_id,
                         const v1::CaseResult& result);

// Thread-safe; blocks on the database.
class ResultIntake {
 public:
  using OnStored = std::function<void(const std::string& campaign_id)>;

  // `on_stored` is called once for each campaign that got new results.
  ResultIntake(const Environment& environment, RunningJobs& running, Attempts& attempts,
               OnStored on_stored);

  // An acknowledgement for each result, in the order given. UNAVAILABLE: nothing is
  // known of any of them; call again.
  Result<std::vector<v1::ResultAck>> Take(const std::string& node_id,
                                          const std::vector<v1::CaseResult>& results);

 private:
  const Environment& environment_;
  RunningJobs& running_;
  Attempts& attempts_;
  const OnStored on_stored_;
};

}  // namespace assay::coordinator
