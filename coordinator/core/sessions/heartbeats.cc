#include "coordinator/core/sessions/heartbeats.h"

#include <algorithm>
#include <set>
#include <utility>

#include "common/log.h"
#include "coordinator/core/attempts/blame.h"
#include "coordinator/core/guarded.h"
#include "wire/durations.h"
#include "wire/reasons.h"

namespace assay::coordinator {
namespace {

using storage::JobEpoch;
using storage::LeasedJob;
using storage::ReportedJob;

// Maximum number of rows in one SQL statement that renews leases.
constexpr size_t kRenewalRows = 500;
// Maximum number of jobs that one State may list; an agent runs a handful.
constexpr int kMaxReportedJobs = 1000;

bool Takes(const LeasedJob& job, const std::string& node_id) {
  return std::find(job.node_ids.begin(), job.node_ids.end(), node_id) != job.node_ids.end();
}

// Returns the failure of a multi-node job that was started without this agent. Either the agent has
// restarted, or its Assign message was lost when an earlier coordinator exited.
v1::Failure NotStarted(const std::string& agent) {
  return MakeFailure(v1::REASON_GANG_NOT_STARTED, "the coordinator changed during the gang, and " +
                                                      agent + " has no part of it");
}

}  // namespace

Heartbeats::Heartbeats(const Environment& environment, const Options& options, RunningJobs& running,
                       Sessions& sessions, Attempts& attempts, Outage& outage)
    : environment_(environment),
      options_(options),
      running_(running),
      sessions_(sessions),
      attempts_(attempts),
      outage_(outage) {}

void Heartbeats::Submit(const std::string& node_id, const v1::AgentState& state) {
  Beat beat;
  beat.sequence = state.sequence();
  for (const v1::RunningJob& job : state.running_jobs()) {
    if (static_cast<int>(beat.reported.size()) == kMaxReportedJobs) break;
    beat.reported.push_back({job.job_id(), job.epoch()});
  }
  const std::optional<Agent> agent = sessions_.Find(node_id);
  if (agent) beat.node_name = agent->name;
  running_.NoteReported(node_id, beat.node_name, beat.reported);
  running_.NotePhases(node_id, state);
  if (!agent) return;
  sessions_.NoteHeard(node_id);
  beat.missing = running_.MissingAt(node_id, agent->instance_id, beat.reported, options_.heartbeat);
  const Duration lately = options_.heartbeat / 4;
  const bool news = !beat.missing.empty() || !running_.AllRenewedWithin(lately, beat.reported);
  const MonotonicTime now = environment_.clock.Now();
  {
    MutexLock lock(mutex_);
    const auto [taken, first] = taken_.try_emplace(node_id, now);
    if (!first && !news && now - taken->second < lately) return;
    taken->second = now;
    pending_[node_id] = std::move(beat);
    if (flushing_) return;
    flushing_ = true;
  }
  environment_.executor.Post([self = shared_from_this()] { self->Flush(0); });
}

// Handles the pending States, one batch at a time, until there are none.
void Heartbeats::Flush(int attempt) {
  Batch batch = TakePending();
  if (batch.empty()) return;
  Held held;
  const Status renewed = Guarded("Renew", [&] { return Renew(batch, held); });
  if (outage_.Note(renewed)) {
    PutBack(std::move(batch));
    environment_.executor.PostAfter(
        RetryDelay(attempt), [self = shared_from_this(), attempt] { self->Flush(attempt + 1); });
    return;
  }
  if (!renewed.ok()) {
    Log().error("leases could not be renewed: {}", renewed.ToString());
  } else {
    for (const auto& [node_id, beat] : batch) {
      static_cast<void>(Guarded("Answer", [&] {
        Answer(node_id, beat, held);
        return Status::Ok();
      }));
    }
  }
  environment_.executor.Post([self = shared_from_this()] { self->Flush(0); });
}

Heartbeats::Batch Heartbeats::TakePending() {
  MutexLock lock(mutex_);
  if (pending_.empty()) flushing_ = false;
  return std::exchange(pending_, {});
}

void Heartbeats::PutBack(Batch batch) {
  MutexLock lock(mutex_);
  pending_.merge(batch);  // Keeps a newer State.
}

Status Heartbeats::Renew(const Batch& batch, Held& held) {
  std::vector<std::string> node_ids;
  std::set<ReportedJob> reported;
  for (const auto& [node_id, beat] : batch) {
    node_ids.push_back(node_id);
    for (const JobEpoch& job : beat.reported) reported.insert({job, node_id});
    for (const RunningJobs::Missing& missing : beat.missing) {
      reported.insert({missing.job, node_id});
    }
  }
  ASSAY_RETURN_IF_ERROR(environment_.nodes.Heartbeat(options_.coordinator_id, node_ids));
  const std::vector<ReportedJob> all(reported.begin(), reported.end());
  for (size_t first = 0; first < all.size(); first += kRenewalRows) {
    const std::vector<ReportedJob> rows(
        all.begin() + static_cast<std::ptrdiff_t>(first),
        all.begin() + static_cast<std::ptrdiff_t>(std::min(first + kRenewalRows, all.size())));
    ASSAY_ASSIGN_OR_RETURN(
        std::vector<LeasedJob> renewed,
        environment_.jobs.RenewLeases(options_.coordinator_id, options_.lease, rows));
    for (LeasedJob& job : renewed) {
      running_.Add(job, /*adopted=*/true);
      held.emplace(JobEpoch{job.job.job_id, job.epoch}, std::move(job));
    }
  }
  return Status::Ok();
}

void Heartbeats::Answer(const std::string& node_id, const Beat& beat, const Held& held) {
  // Record the report again, because Renew may just have adopted some of these jobs.
  running_.NoteReported(node_id, beat.node_name, beat.reported);
  v1::CoordinatorMessage renewal;
  renewal.mutable_lease_renewal()->set_sequence(beat.sequence);
  *renewal.mutable_lease_renewal()->mutable_lease() = ToProto(options_.lease + options_.outage);
  for (const JobEpoch& epoch : beat.reported) {
    const auto job = held.find(epoch);
    const bool holds = job != held.end() && Takes(job->second, node_id);
    if (holds) {
      v1::RunningJob* renewed = renewal.mutable_lease_renewal()->add_jobs();
      renewed->set_job_id(epoch.job_id);
      renewed->set_epoch(epoch.epoch);
    }
    if (holds && !job->second.cancel_requested) continue;
    v1::CoordinatorMessage cancel;
    cancel.mutable_cancel()->set_job_id(epoch.job_id);
    cancel.mutable_cancel()->set_epoch(epoch.epoch);
    cancel.mutable_cancel()->set_reason(holds ? "the campaign was cancelled"
                                              : "the job has moved on to another attempt");
    sessions_.Send(node_id, std::move(cancel));
  }
  sessions_.Send(node_id, std::move(renewal));
  for (const RunningJobs::Missing& missing : beat.missing) {
    const Status resolved = ResolveMissing(node_id, beat.node_name, missing, held);
    // If ResolveMissing fails, the agent's next State shows the job as missing again.
    if (!outage_.NoteFailure(resolved) && !resolved.ok()) {
      Log().error("job {}: {}", missing.job.job_id, resolved.ToString());
    }
  }
}

Status Heartbeats::ResolveMissing(const std::string& node_id, const std::string& node_name,
                                  const RunningJobs::Missing& missing, const Held& held) {
  const auto job = held.find(missing.job);
  if (job == held.end()) {
    running_.Remove(missing.job);
    return Status::Ok();
  }
  // The job has finished since `held` was read.
  if (!running_.Find(missing.job)) return Status::Ok();
  if (job->second.cancel_requested)
    return attempts_.Fail(job->second,
                          MakeFailure(v1::REASON_CANCELLED, "the campaign was cancelled"));
  const std::string agent = "the agent of node " + node_name;
  if (missing.agent_restarted) {
    return attempts_.Fail(job->second,
                          AgentLost(node_id, agent + " restarted while it ran the job"));
  }
  if (missing.gang_started && missing.unheard) {
    return attempts_.Fail(job->second, NotStarted(agent));
  }
  if (missing.gang_started) {
    return attempts_.Fail(job->second,
                          AgentLost(node_id, agent + " has lost its part of a running gang"));
  }
  attempts_.AssignTo(job->second, node_id);
  return Status::Ok();
}

}  // namespace assay::coordinator
