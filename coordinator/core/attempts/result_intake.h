// Accepts results from agents. Checks each result against the job it claims to come from, stores
// results in batches, and acknowledges them.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/session.pb.h"
#include "coordinator/core/attempts/attempts.h"
#include "coordinator/core/attempts/result_facts.h"
#include "coordinator/core/attempts/running_jobs.h"
#include "coordinator/core/environment.h"
#include "coordinator/core/sessions/sessions.h"

namespace assay::coordinator {

// Describes what is wrong with a result that `node_id` sent for `job`, or returns an empty string.
// For example, the node may have no part in the job, the case may be unknown or have other
// parameters, a successful case may lack a passed verification, or a number may be impossible.
std::string WhyMalformed(const storage::LeasedJob& job, const std::string& node_id,
                         const v1::CaseResult& result);

// The part of the coordinator that takes results from agents. Thread-safe; blocks on the database.
class ResultIntake {
 public:
  using OnStored = std::function<void(const std::string& campaign_id)>;

  // `on_stored` is called once for each campaign that got new results.
  ResultIntake(const Environment& environment, RunningJobs& running, const Sessions& sessions,
               Attempts& attempts, OnStored on_stored);

  // Stores results and returns one acknowledgement for each, in the same order. After UNAVAILABLE,
  // some of the results may have been stored, so call this again with all of them.
  Result<std::vector<v1::ResultAck>> Take(const std::string& node_id,
                                          const std::vector<v1::CaseResult>& results);

 private:
  using Node = std::shared_ptr<const v1::NodeDescription>;

  // Returns the node as it described itself last; only id and name if the node was removed.
  Result<Node> Describe(const std::string& node_id);
  // Returns the schemas of the node's benchmarks; empty if the node was removed.
  Result<std::shared_ptr<const v1::Schemas>> SchemasOf(const std::string& node_id);
  // Adds to a result the facts that the coordinator knows (see SetFacts), and its hash.
  Result<storage::SentResult> Complete(const storage::LeasedJob& job,
                                       const v1::NodeDescription& sender,
                                       const v1::CaseResult& result);

  const Environment& environment_;
  RunningJobs& running_;
  const Sessions& sessions_;
  Attempts& attempts_;
  const OnStored on_stored_;
};

}  // namespace assay::coordinator
