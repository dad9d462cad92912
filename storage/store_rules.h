// Rules that every implementation of the stores keeps.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "storage/job_store.h"
#include "storage/schedule_store.h"
#include "storage/types.h"
#include "wire/bytes.h"

namespace assay::storage {

// The number of newest campaigns to search for a similar name when a user gives an unknown one. The
// limit keeps the search fast in a database that has grown for years.
inline constexpr int kOfferedCampaigns = 1000;

// Returns NOT_FOUND with a message such as `no node "g31"`. The hint suggests the most similar of
// `names`, if any is similar.
Status NoSuch(const std::string& what, const std::string& name,
              const std::vector<std::string>& names);

using schema::DeterministicBytes;

// Returns the SHA-256, in hex, of the whole result. A replay has the same hash.
std::string PayloadHash(const v1::CaseResult& result);

// Applies the changes that operators have made to labels and the price to `node`, the description
// sent by the node's agent. Removes any label of the agent whose key differs from that of a set
// label only in case.
void ApplySettings(const v1::NodeSettings& settings, v1::NodeDescription* node);

// Returns the settings (labels and price) of a node after a change. `own` is the description sent
// by the node's agent. Returns INVALID_ARGUMENT if a label or the price is invalid, if two labels
// of the node would differ only in case, or if the node would have too many labels.
Result<v1::NodeSettings> NewSettings(const v1::UpdateNodeRequest& change,
                                     const v1::NodeDescription& own,
                                     const v1::NodeSettings& before);

// Returns the state of a job after an attempt.
v1::JobState StateAfter(Disposition disposition);

// Moves those fields that the coordinator stores inside the spec to the campaign itself.
void MoveOutOfSpec(v1::Campaign* campaign);

// Returns the reason why a node is quarantined, for example "failed 5 jobs one after the other; the
// last: RUNNER_CRASHED: signal 11". `what` is the part before the semicolon, and `last` is the
// latest failure.
std::string QuarantineReason(const std::string& what, const std::optional<v1::Failure>& last);
// Return the two possible values of QuarantineReason's argument `what`: FailedJobsText for a node
// that failed kQuarantineJobs jobs, and FailedCampaignsText for one that failed jobs of
// kQuarantineCampaigns campaigns.
std::string FailedJobsText();
std::string FailedCampaignsText();

// Return the errors of ScheduleStore::Create.
Status ScheduleExists(const std::string& name);
Status TooManySchedules();

// Most requests to run a campaign again.
inline constexpr int kMaxReruns = 100;

// Returns the entry to add to Campaign.reruns for this request to rerun a campaign. The caller must
// set the entry's number of jobs. Returns nullopt if the campaign already has an entry for this
// request, and FAILED_PRECONDITION if its state, verdict or number of reruns does not allow one.
Result<std::optional<v1::Rerun>> NewRerun(const JobStore::RerunRequest& request,
                                          const v1::Campaign& campaign, WallTime now);

// Returns the error for a campaign that cannot be paused or resumed.
Status HasEnded(const v1::Campaign& campaign);

// Returns the error for a campaign that has no job for NewRerun.
Status NothingToRerun(const v1::Campaign& campaign);

// Returns the first repetition of the campaign's latest run of all jobs.
int LatestRun(const google::protobuf::RepeatedPtrField<v1::Rerun>& reruns, int repetitions);

// Adds `jobs` jobs of one state.
void AddToCounts(v1::JobState state, int jobs, v1::JobCounts* counts);

// Checks a campaign before its import. Returns INVALID_ARGUMENT unless each case of each job has
// exactly one result, with epoch 1, and there are no other results.
Status CheckImport(const ImportedCampaign& imported);

// Returns the failure of an imported job that has failed cases, else nullopt.
std::optional<v1::Failure> FailureOf(const ImportedCampaign& imported, const NewJob& job);

// Groups queued jobs by the nodes that they wait for.
class WaitingList {
 public:
  // Adds `jobs` queued jobs that need `needed` of the absent candidates `absent`.
  void Add(int jobs, int needed, std::vector<v1::AbsentNode> absent);

  // Returns one message per set of nodes for which jobs are waiting, sorted by number of jobs
  // (largest first) and then by name.
  std::vector<v1::WaitingJobs> Take() &&;

 private:
  std::map<std::pair<std::vector<std::string>, int>, v1::WaitingJobs> by_nodes_;
};

}  // namespace assay::storage
