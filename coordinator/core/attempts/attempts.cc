#include "coordinator/core/attempts/attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "common/log.h"
#include "coordinator/core/attempts/assignment.h"
#include "coordinator/core/attempts/retry_policy.h"
#include "coordinator/core/durations.h"
#include "coordinator/core/placement/gang_versions.h"
#include "wire/reasons.h"

namespace assay::coordinator {
namespace {

using storage::Disposition;
using storage::JobEpoch;
using storage::LeasedJob;

JobEpoch EpochOf(const LeasedJob& job) { return {job.job.job_id, job.epoch}; }

bool Takes(const LeasedJob& job, const std::string& node_id) {
  return std::find(job.node_ids.begin(), job.node_ids.end(), node_id) != job.node_ids.end();
}

std::string OutcomeName(Disposition disposition) {
  switch (disposition) {
    case Disposition::kSucceeded:
      return "succeeded";
    case Disposition::kFailed:
      return "failed";
    case Disposition::kSkipped:
      return "skipped";
    case Disposition::kCancelled:
      return "cancelled";
    case Disposition::kRequeue:
      return "requeued";
  }
  return "unknown";
}

int CountOf(const CaseOutcomes& outcomes, v1::CaseOutcome outcome) {
  return static_cast<int>(
      std::count_if(outcomes.by_index.begin(), outcomes.by_index.end(),
                    [&](const auto& entry) { return entry.second == outcome; }));
}

v1::Failure MissingResults(const LeasedJob& job, size_t present) {
  v1::Failure failure;
  failure.set_failure_class(v1::FAILURE_CLASS_JOB);
  failure.set_reason(v1::REASON_MISSING_RESULTS);
  failure.set_message(
      fmt::format("the agent said that the job is done, but {} of its {} cases "
                  "have a result",
                  present, job.job.cases.size()));
  return failure;
}

}  // namespace

Attempts::Attempts(const Environment& environment, const Options& options, RunningJobs& running,
                   const Sessions& sessions, const Absence& absence, OnEnded on_ended)
    : environment_(environment),
      options_(options),
      running_(running),
      sessions_(sessions),
      absence_(absence),
      on_ended_(std::move(on_ended)) {}

Status Attempts::Begin(const LeasedJob& job) {
  running_.Add(job, /*adopted=*/false);
  // The last attempt stored every result and was lost before it could say so.
  if (NothingLeft(job)) return Conclude(job, "");
  if (std::optional<v1::Failure> mixed = WhyMixed(job)) {
    return FailFrom(job, *std::move(mixed), "");
  }
  for (const std::string& node_id : job.node_ids) AssignTo(job, node_id);
  Log().debug("job {} epoch {} assigned", job.job.job_id, job.epoch);
  return Status::Ok();
}

void Attempts::AssignTo(const LeasedJob& job, const std::string& node_id) {
  const std::optional<Agent> agent = sessions_.Find(node_id);
  // A node that is away is assigned when its next State lacks the job.
  if (!agent) return;
  v1::CoordinatorMessage message;
  *message.mutable_assign() = MakeAssign(job, node_id, options_.lease,
                                         [this](const std::string& id) { return NameOf(id); });
  running_.NoteAssigned(EpochOf(job), node_id, agent->instance_id, agent->name);
  sessions_.Send(node_id, std::move(message));
}

Status Attempts::Ready(const std::string& node_id, const v1::GangReady& ready) {
  // After a restart of this process the State that would adopt the job may be behind.
  ASSAY_RETURN_IF_ERROR(FindOrAdopt({ready.job_id(), ready.epoch()}).status());
  for (Outbound& outbound : running_.NoteReady(node_id, ready)) {
    sessions_.Send(outbound.node_id, std::move(outbound.message));
  }
  return Status::Ok();
}

Status Attempts::Finished(const std::string& node_id, const v1::JobFinished& finished) {
  const JobEpoch epoch{finished.job_id(), finished.epoch()};
  ASSAY_ASSIGN_OR_RETURN(const std::optional<LeasedJob> job, FindOrAdopt(epoch));
  if (job && Takes(*job, node_id)) {
    if (finished.has_failure()) {
      v1::Failure failure = finished.failure();
      // Another's node is named where a rank on it fell silent.
      if (!Takes(*job, failure.node_id())) failure.set_node_id(node_id);
      std::vector<std::string> at_fault;
      ASSAY_ASSIGN_OR_RETURN(failure, BlameAbsent(*job, std::move(failure)));
      failure = BlameLate(*job, std::move(failure), &at_fault);
      failure = SpareIfAway(*job, node_id, std::move(failure));
      ASSAY_RETURN_IF_ERROR(FailFrom(*job, std::move(failure), node_id, std::move(at_fault)));
    } else if (running_.NoteFinished(epoch, node_id)) {
      const std::optional<MonotonicTime> start = running_.StartOf(epoch);
      ASSAY_RETURN_IF_ERROR(Conclude(*job, node_id));
      if (start) {
        const Duration total = environment_.clock.Now() - *start;
        environment_.observer.JobOverhead(
            FromProto(finished.start_delay()),
            std::max(Duration(0), total - FromProto(finished.runner_time())));
      }
    }
  }
  v1::CoordinatorMessage message;
  message.mutable_job_finished_ack()->set_job_id(finished.job_id());
  message.mutable_job_finished_ack()->set_epoch(finished.epoch());
  sessions_.Send(node_id, std::move(message));
  return Status::Ok();
}

Status Attempts::Fail(const LeasedJob& job, v1::Failure failure,
                      std::vector<std::string> at_fault) {
  return FailFrom(job, std::move(failure), "", std::move(at_fault));
}

void Attempts::Cancel(const std::vector<JobEpoch>& jobs) {
  for (const JobEpoch& epoch : jobs) {
    const std::optional<LeasedJob> job = running_.Find(epoch);
    if (!job) continue;  // Led elsewhere: its coordinator sees the request at renewal.
    for (const std::string& node_id : job->node_ids) {
      SendCancel(node_id, epoch, "the campaign was cancelled");
    }
  }
}

Result<std::optional<LeasedJob>> Attempts::FindOrAdopt(const JobEpoch& epoch) {
  if (std::optional<LeasedJob> known = running_.Find(epoch)) return known;
  ASSAY_ASSIGN_OR_RETURN(
      const std::vector<LeasedJob> held,
      environment_.jobs.RenewLeases(options_.coordinator_id, options_.lease, {epoch}));
  if (held.empty()) return std::optional<LeasedJob>();
  running_.Add(held.front(), /*adopted=*/true);
  return std::optional(held.front());
}

// Decides an attempt that finished without failure by the outcomes of its cases.
Status Attempts::Conclude(const LeasedJob& job, const std::string& reporter) {
  const size_t cases = job.job.cases.size();
  CaseOutcomes outcomes = running_.OutcomesOf(EpochOf(job));
  if (outcomes.by_index.size() < cases) {
    // Earlier attempts, or a coordinator before this one, saw the others.
    ASSAY_ASSIGN_OR_RETURN(outcomes, LoadOutcomes(job));
  }
  if (outcomes.by_index.size() < cases) {
    return FailFrom(job, MissingResults(job, outcomes.by_index.size()), reporter);
  }
  storage::FinishedAttempt attempt;
  const int failed = CountOf(outcomes, v1::CASE_OUTCOME_FAILED);
  if (failed > 0) {
    // A case never gets a second result, so another attempt would change nothing.
    attempt.disposition = Disposition::kFailed;
    v1::Failure& failure = attempt.failure.emplace(outcomes.first_failure.value_or(v1::Failure()));
    if (failure.failure_class() == v1::FAILURE_CLASS_UNSPECIFIED) {
      failure.set_failure_class(v1::FAILURE_CLASS_JOB);
    }
    if (failure.reason() == v1::REASON_UNSPECIFIED) failure.set_reason(v1::REASON_CASE_FAILED);
    failure.set_message(
        fmt::format("{} of {} cases failed; the first: {}", failed, cases, failure.message()));
  } else if (CountOf(outcomes, v1::CASE_OUTCOME_UNSUPPORTED) == static_cast<int>(cases)) {
    attempt.disposition = Disposition::kSkipped;
  }
  return End(job, std::move(attempt), reporter);
}

std::string Attempts::NameOf(const std::string& node_id) const {
  const std::optional<Agent> agent = sessions_.Find(node_id);
  return agent ? agent->name : node_id;
}

// Why the job's nodes cannot form a gang, by what their agents said last.
std::optional<v1::Failure> Attempts::WhyMixed(const LeasedJob& job) const {
  if (job.job.world_size < 2 || job.job.resource != v1::RESOURCE_KIND_GPU) return std::nullopt;
  std::vector<std::shared_ptr<const v1::NodeDescription>> held;
  std::vector<const v1::NodeDescription*> nodes;
  for (const std::string& node_id : job.node_ids) {
    const std::optional<Agent> agent = sessions_.Find(node_id);
    if (!agent) continue;  // Its ranks compare themselves when they meet.
    held.push_back(agent->description);
    nodes.push_back(agent->description.get());
  }
  v1::Failure failure;
  failure.set_failure_class(v1::FAILURE_CLASS_USER);
  if (const std::string versions = VersionMismatch(nodes); !versions.empty()) {
    failure.set_reason(v1::REASON_VERSION_MISMATCH);
    failure.set_message("the nodes of the gang have different software: " + versions +
                        "; install the same on all of them, or choose others by the campaign's "
                        "`nodes`");
    return failure;
  }
  const std::string gpus = job.job.mixed_gpus ? "" : GpuMismatch(nodes, job.job.gpu_indices);
  if (gpus.empty()) return std::nullopt;
  failure.set_reason(v1::REASON_MIXED_GPUS);
  failure.set_message("the gang has GPUs of several models: " + gpus +
                      "; choose nodes by the campaign's `nodes`, or set `mixed_gpus: true`");
  return failure;
}

Result<bool> Attempts::IsElsewhere(const std::string& node_id) const {
  if (sessions_.Has(node_id)) return false;
  return environment_.nodes.IsElsewhere(options_.coordinator_id, node_id, options_.lease);
}

// A rank that lost another names its own node; if the agent of another node has left, and not for
// another coordinator, that node is at fault.
Result<v1::Failure> Attempts::BlameAbsent(const LeasedJob& job, v1::Failure failure) const {
  if (!IsPeerLoss(failure.reason())) return failure;
  for (const auto& [node_id, last_heard] : running_.SpokenFor(EpochOf(job))) {
    if (sessions_.Has(node_id) || absence_.Excuses(last_heard)) continue;
    ASSAY_ASSIGN_OR_RETURN(const bool elsewhere, IsElsewhere(node_id));
    if (elsewhere) continue;
    failure.set_message(fmt::format("the agent of node {} is gone; {}",
                                    running_.NameOf(EpochOf(job), node_id), failure.message()));
    failure.set_failure_class(v1::FAILURE_CLASS_NODE);
    failure.set_reason(v1::REASON_AGENT_LOST);
    failure.set_node_id(node_id);
    break;
  }
  return failure;
}

// Agents whose ranks waited for others' until the job's time was over know nothing of those.
v1::Failure Attempts::BlameLate(const LeasedJob& job, v1::Failure failure,
                                std::vector<std::string>* at_fault) const {
  const std::optional<GangWait> wait = running_.WaitOf(EpochOf(job));
  std::vector<std::string> late = wait ? LateNodes(*wait) : std::vector<std::string>();
  if (late.empty()) return failure;
  // Those that have begun may wait for one whose start was lost with the coordinator.
  const bool in_vain = failure.reason() == v1::REASON_PEER_TIMEOUT && wait->adopted;
  const bool waited =
      failure.reason() == v1::REASON_TIMEOUT || failure.reason() == v1::REASON_GANG_NOT_STARTED;
  if (!waited && !in_vain) return failure;
  if (in_vain) {
    failure.set_reason(v1::REASON_GANG_NOT_STARTED);
    failure.set_message(DescribeWait(*wait) + "; those that began gave up: " + failure.message());
  } else {
    failure.set_message(failure.message() + "; " + DescribeWait(*wait));
  }
  if (wait->adopted) {
    failure.set_failure_class(v1::FAILURE_CLASS_INFRASTRUCTURE);
  } else if (failure.reason() == v1::REASON_TIMEOUT && absence_.SilenceCounts() &&
             OthersWereQuick(*wait)) {
    failure.set_failure_class(v1::FAILURE_CLASS_NODE);
    *at_fault = std::move(late);
  }
  return failure;
}

// Relieves a node of blame if the coordinator was away: an attempt that an agent had to end, or a
// rank that waited for a start that may have been lost, proves nothing about the node.
v1::Failure Attempts::SpareIfAway(const LeasedJob& job, const std::string& reporter,
                                  v1::Failure failure) const {
  const bool not_renewed = failure.reason() == v1::REASON_LEASE_LOST && absence_.Recent();
  if (not_renewed || failure.reason() == v1::REASON_GANG_NOT_STARTED) failure.clear_node_id();
  if (failure.reason() != v1::REASON_PEER_TIMEOUT ||
      failure.failure_class() != v1::FAILURE_CLASS_NODE) {
    return failure;
  }
  const std::map<std::string, MonotonicTime> spoken = running_.SpokenFor(EpochOf(job));
  const bool all_spoke = std::all_of(
      job.node_ids.begin(), job.node_ids.end(),
      [&](const std::string& node_id) { return node_id == reporter || spoken.count(node_id) > 0; });
  if (all_spoke) return failure;
  failure.set_failure_class(v1::FAILURE_CLASS_INFRASTRUCTURE);
  failure.clear_node_id();
  failure.set_message(failure.message() +
                      "; not all agents of the gang have spoken since the coordinator changed: a "
                      "rank may have missed the gang's start");
  return failure;
}

Status Attempts::FailFrom(const LeasedJob& job, v1::Failure failure, const std::string& reporter,
                          std::vector<std::string> at_fault) {
  if (!at_fault.empty()) {
    failure.set_node_id(at_fault.front());
    at_fault.erase(at_fault.begin());
  }
  // The record may be older than a cancel request; FinishAttempt knows of it as well.
  const RetryDecision decision = DecideRetry(job, failure, at_fault);
  Log().info("job {} epoch {} failed ({}): {}", job.job.job_id, job.epoch,
             ReasonWord(failure.reason()), failure.message());
  storage::FinishedAttempt attempt;
  attempt.disposition = decision.disposition;
  attempt.failure = std::move(failure);
  attempt.also_node_ids = std::move(at_fault);
  attempt.avoid_node_ids = decision.avoid_node_ids;
  attempt.same_nodes = decision.same_nodes;
  attempt.delay = decision.delay;
  return End(job, std::move(attempt), reporter);
}

Status Attempts::End(const LeasedJob& job, storage::FinishedAttempt attempt,
                     const std::string& reporter) {
  const JobEpoch epoch = EpochOf(job);
  attempt.job = epoch;
  ASSAY_ASSIGN_OR_RETURN(const storage::FinishOutcome outcome,
                         environment_.jobs.FinishAttempt(attempt));
  const std::optional<MonotonicTime> start = running_.StartOf(epoch);
  running_.Remove(epoch);
  for (const std::string& node_id : job.node_ids) {
    if (node_id != reporter) SendCancel(node_id, epoch, "the attempt is over");
  }
  if (!outcome.held) return Status::Ok();
  environment_.observer.JobEnded(job.job.benchmark, OutcomeName(attempt.disposition),
                                 start ? environment_.clock.Now() - *start : Duration(0));
  on_ended_({outcome, attempt.disposition == Disposition::kRequeue, attempt.delay});
  return Status::Ok();
}

Result<CaseOutcomes> Attempts::LoadOutcomes(const LeasedJob& job) {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<v1::CaseResult> stored,
                         environment_.results.ListOfJob(job.job.job_id));
  CaseOutcomes outcomes;
  for (const v1::CaseResult& result : stored) {
    outcomes.by_index[result.case_index()] = result.outcome();
    if (result.outcome() == v1::CASE_OUTCOME_FAILED && !outcomes.first_failure) {
      outcomes.first_failure = result.failure();
    }
  }
  return outcomes;
}

void Attempts::SendCancel(const std::string& node_id, const JobEpoch& job,
                          const std::string& reason) {
  v1::CoordinatorMessage message;
  message.mutable_cancel()->set_job_id(job.job_id);
  message.mutable_cancel()->set_epoch(job.epoch);
  message.mutable_cancel()->set_reason(reason);
  sessions_.Send(node_id, std::move(message));
}

}  // namespace assay::coordinator
