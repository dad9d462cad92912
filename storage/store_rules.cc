#include "storage/store_rules.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "common/digest.h"
#include "common/text.h"
#include "wire/node_labels.h"
#include "wire/reasons.h"
#include "wire/timestamps.h"

namespace assay::storage {

Status NoSuch(const std::string& what, const std::string& name,
              const std::vector<std::string>& names) {
  const Status error = NotFound("no " + what + " \"" + name + "\"");
  const std::string closest = ClosestName(name, names);
  return closest.empty() ? error : error.WithHint("did you mean \"" + closest + "\"?");
}

std::string PayloadHash(const v1::CaseResult& result) {
  return Sha256Hex(DeterministicBytes(result));
}

void ApplySettings(const v1::NodeSettings& settings, v1::NodeDescription* node) {
  auto& labels = *node->mutable_labels();
  for (const std::string& key : settings.removed_labels()) labels.erase(key);
  for (const auto& [key, value] : settings.labels()) {
    for (auto other = labels.begin(); other != labels.end();) {
      const bool same = Lower(other->first) == Lower(key);
      other = same ? labels.erase(other) : std::next(other);
    }
  }
  labels.insert(settings.labels().begin(), settings.labels().end());
  if (settings.has_price_per_hour()) node->set_price_per_hour(settings.price_per_hour());
}

Result<v1::NodeSettings> NewSettings(const v1::UpdateNodeRequest& change,
                                     const v1::NodeDescription& own,
                                     const v1::NodeSettings& before) {
  v1::NodeDescription node = own;
  ApplySettings(before, &node);
  auto& labels = *node.mutable_labels();
  v1::NodeSettings after = before;
  // Forget removals of labels that the agent does not send any more.
  std::set<std::string> removed;
  for (const std::string& key : before.removed_labels()) {
    if (own.labels().contains(key)) removed.insert(key);
  }
  for (const std::string& key : change.removed_labels()) {
    ASSAY_RETURN_IF_ERROR(schema::CheckLabel(key, ""));
    if (change.labels().contains(key)) {
      return InvalidArgument("label " + key + " is both set and removed");
    }
    if (!labels.contains(key)) ASSAY_RETURN_IF_ERROR(schema::CheckLabelCase(key, labels));
    labels.erase(key);
    after.mutable_labels()->erase(key);
    if (own.labels().contains(key)) removed.insert(key);
  }
  for (const auto& [key, value] : change.labels()) {
    ASSAY_RETURN_IF_ERROR(schema::CheckLabel(key, value));
    ASSAY_RETURN_IF_ERROR(schema::CheckLabelCase(key, labels));
    labels[key] = value;
    (*after.mutable_labels())[key] = value;
    removed.erase(key);
  }
  if (labels.size() > schema::kMaxLabels) {
    return InvalidArgument("node " + Quote(own.name()) + " would have " +
                           std::to_string(labels.size()) + " labels; at most " +
                           std::to_string(schema::kMaxLabels) + " are allowed");
  }
  after.mutable_removed_labels()->Assign(removed.begin(), removed.end());
  if (change.has_price_per_hour()) {
    ASSAY_RETURN_IF_ERROR(schema::CheckPrice(change.price_per_hour()));
    after.set_price_per_hour(change.price_per_hour());
  }
  return after;
}

v1::JobState StateAfter(Disposition disposition) {
  switch (disposition) {
    case Disposition::kSucceeded:
      return v1::JOB_STATE_SUCCEEDED;
    case Disposition::kFailed:
      return v1::JOB_STATE_FAILED;
    case Disposition::kSkipped:
      return v1::JOB_STATE_SKIPPED;
    case Disposition::kCancelled:
      return v1::JOB_STATE_CANCELLED;
    case Disposition::kRequeue:
      break;
  }
  return v1::JOB_STATE_QUEUED;
}

void MoveOutOfSpec(v1::Campaign* campaign) {
  v1::CampaignSpec& spec = *campaign->mutable_spec();
  campaign->mutable_left_out()->Swap(spec.mutable_left_out());
  campaign->mutable_submitted_by()->swap(*spec.mutable_submitted_by());
  if (spec.has_coverage()) campaign->mutable_coverage()->Swap(spec.mutable_coverage());
  spec.clear_coverage();
  campaign->mutable_reruns()->Swap(spec.mutable_reruns());
  campaign->mutable_schedule()->swap(*spec.mutable_schedule());
}

Status ScheduleExists(const std::string& name) {
  return Status(Code::kAlreadyExists, Reason::kScheduleExists,
                "a schedule " + Quote(name) + " exists already")
      .WithHint("choose another name, or remove that schedule first");
}

Status TooManySchedules() {
  return FailedPrecondition("there are " + std::to_string(kMaxSchedules) +
                            " schedules, which is the limit")
      .WithHint("remove one first");
}

Result<std::optional<v1::Rerun>> NewRerun(const JobStore::RerunRequest& request,
                                          const v1::Campaign& campaign, WallTime now) {
  for (const v1::Rerun& before : campaign.reruns()) {
    if (before.request_id() == request.request_id) return std::optional<v1::Rerun>();
  }
  const std::string name = "campaign " + Quote(campaign.name());
  if (campaign.state() == v1::CAMPAIGN_STATE_ACTIVE) {
    return FailedPrecondition(name + " has not ended").WithHint("cancel it first, or wait");
  }
  if (campaign.verdict() == v1::VERDICT_UNSPECIFIED) {
    return FailedPrecondition(name + " has no verdict yet").WithHint("try again in a moment");
  }
  if (campaign.reruns_size() >= kMaxReruns) {
    return FailedPrecondition(name + " was run again " + std::to_string(kMaxReruns) +
                              " times, which is the limit")
        .WithHint("submit it as a new campaign");
  }
  v1::Rerun rerun;
  rerun.set_request_id(request.request_id);
  rerun.set_failed_only(request.failed_only);
  rerun.set_requested_by(request.requested_by);
  *rerun.mutable_time() = schema::ToTimestamp(now);
  return std::optional(std::move(rerun));
}

Status HasEnded(const v1::Campaign& campaign) {
  return FailedPrecondition("campaign " + Quote(campaign.name()) + " has ended",
                            Reason::kCampaignEnded);
}

Status NothingToRerun(const v1::Campaign& campaign) {
  return FailedPrecondition("campaign " + Quote(campaign.name()) +
                            " has no failed or cancelled job with a case that has no result")
      .WithHint("results are never replaced; to measure everything again, run all jobs");
}

int LatestRun(const google::protobuf::RepeatedPtrField<v1::Rerun>& reruns, int repetitions) {
  const auto runs = std::count_if(reruns.begin(), reruns.end(),
                                  [](const v1::Rerun& rerun) { return !rerun.failed_only(); });
  return static_cast<int>(runs) * repetitions + 1;
}

std::string QuarantineReason(const std::string& what, const std::optional<v1::Failure>& last) {
  if (!last) return what;
  constexpr size_t kMostBytes = 200;
  const std::string message = Cut(last->message(), kMostBytes);
  return what + "; the last: " + ReasonWord(last->reason()) +
         (message.empty() ? "" : ": " + message);
}

std::string FailedJobsText() {
  return "failed " + std::to_string(kQuarantineJobs) + " jobs one after the other";
}

std::string FailedCampaignsText() {
  return "failed jobs of " + std::to_string(kQuarantineCampaigns) +
         " campaigns one after the other";
}

void AddToCounts(v1::JobState state, int jobs, v1::JobCounts* counts) {
  switch (state) {
    case v1::JOB_STATE_QUEUED:
      return counts->set_queued(counts->queued() + jobs);
    case v1::JOB_STATE_RUNNING:
      return counts->set_running(counts->running() + jobs);
    case v1::JOB_STATE_SUCCEEDED:
      return counts->set_succeeded(counts->succeeded() + jobs);
    case v1::JOB_STATE_FAILED:
      return counts->set_failed(counts->failed() + jobs);
    case v1::JOB_STATE_CANCELLED:
      return counts->set_cancelled(counts->cancelled() + jobs);
    case v1::JOB_STATE_SKIPPED:
      return counts->set_skipped(counts->skipped() + jobs);
    default:
      return;
  }
}

Status CheckImport(const ImportedCampaign& imported) {
  if (imported.campaign.jobs.empty()) return InvalidArgument("a campaign needs at least one job");
  std::set<std::pair<std::string, int>> open;
  for (const NewJob& job : imported.campaign.jobs) {
    for (size_t i = 0; i < job.cases.size(); ++i) open.emplace(job.job_id, static_cast<int>(i));
  }
  for (const v1::CaseResult& result : imported.results) {
    if (open.erase({result.job_id(), result.case_index()}) == 0 || result.epoch() != 1) {
      return InvalidArgument("an imported result is of no case, or a case has two");
    }
  }
  if (open.empty()) return Status::Ok();
  return InvalidArgument(std::to_string(open.size()) + " imported cases have no result");
}

std::optional<v1::Failure> FailureOf(const ImportedCampaign& imported, const NewJob& job) {
  int failed = 0;
  for (const v1::CaseResult& result : imported.results) {
    const bool mine = result.job_id() == job.job_id;
    failed += mine && result.outcome() == v1::CASE_OUTCOME_FAILED ? 1 : 0;
  }
  if (failed == 0) return std::nullopt;
  v1::Failure failure;
  failure.set_failure_class(v1::FAILURE_CLASS_JOB);
  failure.set_reason(v1::REASON_CASE_FAILED);
  failure.set_message(std::to_string(failed) + " of " + std::to_string(job.cases.size()) +
                      " cases failed");
  return failure;
}

void WaitingList::Add(int jobs, int needed, std::vector<v1::AbsentNode> absent) {
  std::sort(absent.begin(), absent.end(), [](const v1::AbsentNode& a, const v1::AbsentNode& b) {
    return std::tie(a.name(), a.node_id()) < std::tie(b.name(), b.node_id());
  });
  std::vector<std::string> names;
  for (const v1::AbsentNode& node : absent) names.push_back(node.name());
  v1::WaitingJobs& waiting = by_nodes_[{std::move(names), needed}];
  if (waiting.jobs() == 0) {
    waiting.set_needed(needed);
    for (v1::AbsentNode& node : absent) *waiting.add_nodes() = std::move(node);
  }
  waiting.set_jobs(waiting.jobs() + jobs);
}

std::vector<v1::WaitingJobs> WaitingList::Take() && {
  std::vector<v1::WaitingJobs> all;
  for (auto& [key, waiting] : by_nodes_) all.push_back(std::move(waiting));
  std::stable_sort(all.begin(), all.end(), [](const v1::WaitingJobs& a, const v1::WaitingJobs& b) {
    return a.jobs() > b.jobs();
  });
  return all;
}

}  // namespace assay::storage
