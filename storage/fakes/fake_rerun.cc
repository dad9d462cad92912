// Pauses campaigns and runs them again in memory.
#include <vector>

#include "storage/fakes/fake_stores.h"
#include "storage/store_rules.h"
#include "wire/timestamps.h"

namespace assay::storage {

Status FakeJobStore::SetPaused(const std::string& campaign_id, bool paused, const std::string& by) {
  MutexLock lock(database_.mutex);
  ASSAY_RETURN_IF_ERROR(JobsOf(campaign_id).status());
  v1::Campaign& shown = database_.campaigns.at(campaign_id).shown;
  if (shown.state() != v1::CAMPAIGN_STATE_ACTIVE) return HasEnded(shown);
  if (!paused) {
    shown.clear_pause_time();
    shown.clear_paused_by();
  } else if (!shown.has_pause_time()) {
    *shown.mutable_pause_time() = schema::ToTimestamp(database_.clock.WallNow());
    shown.set_paused_by(by);
  }
  return Status::Ok();
}

Status FakeJobStore::RerunCampaign(const RerunRequest& request) {
  MutexLock lock(database_.mutex);
  ASSAY_ASSIGN_OR_RETURN(std::vector<JobRow*> jobs, JobsOf(request.campaign_id));
  CampaignRow& campaign = database_.campaigns.at(request.campaign_id);
  v1::Campaign& shown = campaign.shown;
  ASSAY_ASSIGN_OR_RETURN(std::optional<v1::Rerun> rerun,
                         NewRerun(request, shown, database_.clock.WallNow()));
  if (!rerun) return Status::Ok();
  const int first = LatestRun(shown.reruns(), request.repetitions);
  std::erase_if(jobs, [&](const JobRow* row) {
    const v1::JobState state = row->shown.state();
    const bool failed = state == v1::JOB_STATE_FAILED || state == v1::JOB_STATE_CANCELLED;
    return row->job.repetition < first ||
           (request.failed_only && (!failed || row->done_cases.size() == row->job.cases.size()));
  });
  if (jobs.empty()) return NothingToRerun(shown);
  for (JobRow* row : jobs) {
    if (request.failed_only) {
      row->shown.set_state(v1::JOB_STATE_QUEUED);
      row->shown.clear_start_time();
      row->shown.clear_end_time();
      row->cancel_requested = false;
      row->failures.clear();
      row->avoid_node_ids.clear();
      row->same_nodes = false;
      row->not_before = database_.clock.Now();
      Touch(*row);
    } else {
      NewJob copy = row->job;
      copy.job_id = NewUuid();
      copy.repetition += request.repetitions;
      ++copy.seed;
      database_.AddJob(campaign, copy);
    }
  }
  rerun->set_job_count(static_cast<int>(jobs.size()));
  *shown.add_reruns() = *std::move(rerun);
  shown.set_state(v1::CAMPAIGN_STATE_ACTIVE);
  shown.clear_verdict();
  shown.clear_rules();
  shown.clear_end_time();
  shown.clear_pause_time();
  campaign.cancel_requested = false;
  return Status::Ok();
}

}  // namespace assay::storage
