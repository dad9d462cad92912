#include "coordinator/core/attempts/attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "campaign/gang_network.h"
#include "campaign/gang_versions.h"
#include "common/log.h"
#include "coordinator/core/attempts/assignment.h"
#include "coordinator/core/attempts/blame.h"
#include "coordinator/core/attempts/retry_policy.h"
#include "wire/durations.h"
#include "wire/reasons.h"

namespace assay::coordinator {
namespace {

using storage::Disposition;
using storage::JobEpoch;
using storage::LeasedJob;

JobEpoch EpochOf(const LeasedJob& job) { return {job.job.job_id, job.epoch}; }

bool HasNode(const LeasedJob& job, const std::string& node_id) {
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

// Returns the nodes that a failed attempt counts against:
// - none if Assay itself or the user caused the failure;
// - the only node of a job on a single node;
// - the nodes at fault for a job on several nodes.
std::vector<std::string> SuspectsOf(const LeasedJob& job, const v1::Failure& failure,
                                    const std::vector<std::string>& also_at_fault) {
  if (failure.failure_class() != v1::FAILURE_CLASS_NODE &&
      failure.failure_class() != v1::FAILURE_CLASS_JOB) {
    return {};
  }
  std::vector<std::string> suspects = also_at_fault;
  if (job.node_ids.size() == 1) {
    suspects = job.node_ids;
  } else if (failure.failure_class() == v1::FAILURE_CLASS_NODE && !failure.node_id().empty()) {
    suspects.push_back(failure.node_id());
  }
  return suspects;
}

v1::Failure MissingResults(const LeasedJob& job, size_t present) {
  return MakeFailure(v1::REASON_MISSING_RESULTS,
                     fmt::format("the agent reported the end of the job, but only {} of its {} "
                                 "cases have a result",
                                 present, job.job.cases.size()));
}

}  // namespace

Attempts::Attempts(const Environment& environment, const Options& options, RunningJobs& running,
                   const Sessions& sessions, const GracePeriod& grace, const Leadership& leadership,
                   OnEnded on_ended)
    : environment_(environment),
      options_(options),
      running_(running),
      sessions_(sessions),
      grace_(grace),
      leadership_(leadership),
      on_ended_(std::move(on_ended)) {}

Status Attempts::Begin(const LeasedJob& job) {
  running_.Add(job, /*adopted=*/false);
  // An earlier attempt stored every result and was lost before it could report its end.
  if (NothingLeft(job)) return Conclude(job);
  if (std::optional<v1::Failure> mixed = WhyMixed(job)) {
    return Fail(job, *std::move(mixed));
  }
  for (const std::string& node_id : job.node_ids) AssignTo(job, node_id);
  Log().debug("job {} epoch {} assigned", job.job.job_id, job.epoch);
  return Status::Ok();
}

void Attempts::AssignTo(const LeasedJob& job, const std::string& node_id) {
  const std::optional<Agent> agent = sessions_.Find(node_id);
  // A node without a session gets the job later, when its next State message does not list the job.
  if (!agent) return;
  v1::CoordinatorMessage message;
  *message.mutable_assign() = MakeAssign(job, node_id, options_.lease + options_.outage,
                                         [this](const std::string& id) { return NameOf(id); });
  running_.NoteAssigned(EpochOf(job), node_id, agent->instance_id, agent->name);
  sessions_.Send(node_id, std::move(message));
}

Status Attempts::Ready(const std::string& node_id, const v1::GangReady& ready) {
  // After a restart, this process must take over (adopt) the jobs that agents are still running. It
  // usually learns of a job from the agent's State message. If this GangReady message arrives
  // first, adopt the job here.
  ASSAY_RETURN_IF_ERROR(FindOrAdopt({ready.job_id(), ready.epoch()}, node_id).status());
  for (Outbound& outbound : running_.NoteReady(node_id, ready)) {
    sessions_.Send(outbound.node_id, std::move(outbound.message));
  }
  return Status::Ok();
}

Status Attempts::Finished(const std::string& node_id, const v1::JobFinished& finished) {
  const JobEpoch epoch{finished.job_id(), finished.epoch()};
  ASSAY_ASSIGN_OR_RETURN(const std::optional<LeasedJob> job, FindOrAdopt(epoch, node_id));
  if (job && HasNode(*job, node_id)) {
    if (finished.has_failure()) {
      v1::Failure failure = finished.failure();
      failure.set_node_id(node_id);
      running_.NoteFailure(epoch, node_id, std::move(failure));
      return EndIfCauseIsKnown(*job, /*last_call=*/false).status();
    }
    const std::optional<MonotonicTime> start = running_.StartOf(epoch);
    if (running_.NoteFinished(epoch, node_id)) {
      ASSAY_RETURN_IF_ERROR(Conclude(*job));
      if (start) {
        const Duration total = environment_.clock.Now() - *start;
        environment_.observer.JobOverhead(
            FromProto(finished.start_delay()),
            std::max(Duration(0), total - FromProto(finished.runner_time())));
      }
      return Status::Ok();
    }
  }
  SendFinishedAck(node_id, epoch);
  return Status::Ok();
}

Result<bool> Attempts::EndIfCauseIsKnown(const LeasedJob& job, bool last_call) {
  const JobEpoch epoch = EpochOf(job);
  Evidence evidence;
  evidence.world_size = job.job.world_size;
  evidence.wait = running_.WaitOf(epoch);
  evidence.silence_counts = !grace_.Active();
  const Duration patience = std::max(2 * options_.heartbeat, kReportsWait);
  for (RunningJobs::NodeStatus& node : running_.NodesOf(epoch)) {
    const bool silent = !sessions_.Has(node.node_id) ||
                        (node.last_seen && environment_.clock.Now() - *node.last_seen > patience);
    // Do not treat an agent as lost after it has reported that its part is done. After that, it
    // does not mention the job anymore, so its silence means nothing.
    const bool ended = node.failure || node.finished;
    bool lost = !ended && node.last_seen && silent && evidence.silence_counts;
    if (lost) {
      ASSAY_ASSIGN_OR_RETURN(const bool elsewhere, IsElsewhere(node.node_id));
      lost = !elsewhere;
    }
    evidence.nodes.push_back({node.node_id, std::move(node.name), node.last_seen.has_value(), lost,
                              std::move(node.failure), node.finished});
  }
  if (evidence.nodes.empty()) return true;
  std::optional<Blame> blame = DecideBlame(evidence, last_call);
  if (!blame) return false;
  if (!blame->failure.node_id().empty()) {
    blame->also_at_fault.insert(blame->also_at_fault.begin(), blame->failure.node_id());
  }
  ASSAY_RETURN_IF_ERROR(Fail(job, std::move(blame->failure), std::move(blame->also_at_fault)));
  return true;
}

Status Attempts::DecideOverdue() {
  for (const LeasedJob& job : running_.FailedBefore(kReportsWait)) {
    ASSAY_RETURN_IF_ERROR(EndIfCauseIsKnown(job, /*last_call=*/true).status());
  }
  return Status::Ok();
}

Status Attempts::Fail(const LeasedJob& job, v1::Failure failure,
                      std::vector<std::string> at_fault) {
  failure.set_node_id(at_fault.empty() ? failure.node_id() : at_fault.front());
  if (!at_fault.empty()) at_fault.erase(at_fault.begin());
  // Failures of Assay itself blame no node.
  if (failure.failure_class() == v1::FAILURE_CLASS_INFRASTRUCTURE) failure.clear_node_id();
  // The record `job` may be older than a cancel request, but FinishAttempt also checks for one.
  const RetryDecision decision = DecideRetry(job, failure, at_fault);
  const bool planned =
      failure.reason() == v1::REASON_AGENT_STOPPED || failure.reason() == v1::REASON_NODE_DRAINED;
  Log().info("job {} epoch {} {} ({}): {}", job.job.job_id, job.epoch,
             planned ? "was handed back" : "failed", ReasonWord(failure.reason()),
             failure.message());
  storage::FinishedAttempt attempt;
  attempt.disposition = decision.disposition;
  attempt.suspect_node_ids = SuspectsOf(job, failure, at_fault);
  attempt.failure = std::move(failure);
  attempt.also_node_ids = std::move(at_fault);
  attempt.avoid_node_ids = decision.avoid_node_ids;
  attempt.same_nodes = decision.same_nodes;
  attempt.delay = decision.delay;
  return End(job, std::move(attempt));
}

void Attempts::Cancel(const std::vector<JobEpoch>& jobs) {
  for (const JobEpoch& epoch : jobs) {
    const std::optional<LeasedJob> job = running_.Find(epoch);
    // Another coordinator leads the attempt and sees the request when it renews the lease.
    if (!job) continue;
    for (const std::string& node_id : job->node_ids) {
      SendCancel(node_id, epoch, "the campaign was cancelled");
    }
  }
}

Result<std::optional<LeasedJob>> Attempts::FindOrAdopt(const JobEpoch& epoch,
                                                       const std::string& node_id) {
  if (std::optional<LeasedJob> known = running_.Find(epoch)) return known;
  ASSAY_ASSIGN_OR_RETURN(
      const std::vector<LeasedJob> held,
      environment_.jobs.RenewLeases(options_.coordinator_id, options_.lease, {{epoch, node_id}}));
  if (held.empty()) return std::optional<LeasedJob>();
  running_.Add(held.front(), /*adopted=*/true);
  return std::optional(held.front());
}

// Ends an attempt that finished without a failure. The outcomes of its cases determine how.
Status Attempts::Conclude(const LeasedJob& job) {
  const size_t cases = job.job.cases.size();
  CaseOutcomes outcomes = running_.OutcomesOf(EpochOf(job));
  if (outcomes.by_index.size() < cases) {
    // Earlier attempts, or an earlier coordinator, received the other outcomes.
    ASSAY_ASSIGN_OR_RETURN(outcomes, LoadOutcomes(job));
  }
  if (outcomes.by_index.size() < cases) {
    return Fail(job, MissingResults(job, outcomes.by_index.size()));
  }
  return End(job, AttemptOf(job, outcomes));
}

Status Attempts::Mend(const LeasedJob& job) {
  ASSAY_ASSIGN_OR_RETURN(const CaseOutcomes outcomes, LoadOutcomes(job));
  if (outcomes.by_index.size() < job.job.cases.size()) return Status::Ok();
  storage::FinishedAttempt attempt = AttemptOf(job, outcomes);
  attempt.mend = true;
  attempt.job = EpochOf(job);
  ASSAY_ASSIGN_OR_RETURN(const storage::FinishOutcome outcome,
                         environment_.jobs.FinishAttempt(attempt));
  if (!outcome.held) return Status::Ok();
  Log().info("job {} epoch {} has {}: its last results arrived late", job.job.job_id, job.epoch,
             OutcomeName(attempt.disposition));
  on_ended_({outcome, /*requeued=*/false, Duration(0)});
  return Status::Ok();
}

// Returns the record of how an attempt ends if all its cases have a result.
storage::FinishedAttempt Attempts::AttemptOf(const LeasedJob& job, const CaseOutcomes& outcomes) {
  const size_t cases = job.job.cases.size();
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
  return attempt;
}

std::string Attempts::NameOf(const std::string& node_id) const {
  const std::optional<Agent> agent = sessions_.Find(node_id);
  return agent ? agent->name : node_id;
}

// Returns why the job's nodes cannot form a gang, from the last descriptions of their agents.
std::optional<v1::Failure> Attempts::WhyMixed(const LeasedJob& job) const {
  if (job.job.world_size < 2) return std::nullopt;
  std::vector<std::shared_ptr<const v1::NodeDescription>> held;
  std::vector<const v1::NodeDescription*> nodes;
  for (const std::string& node_id : job.node_ids) {
    const std::optional<Agent> agent = sessions_.Find(node_id);
    if (!agent) continue;  // Its ranks are compared when they meet.
    held.push_back(agent->description);
    nodes.push_back(agent->description.get());
  }
  if (const std::string networks = campaign::NetworkMismatch(nodes); !networks.empty()) {
    return MakeFailure(v1::REASON_NO_SHARED_NETWORK, "nodes of the gang: " + networks);
  }
  if (job.job.resource != v1::RESOURCE_KIND_GPU) return std::nullopt;
  if (const std::string versions = campaign::VersionMismatch(nodes); !versions.empty()) {
    return MakeFailure(v1::REASON_VERSION_MISMATCH,
                       "the nodes of the gang have different software: " + versions +
                           "; install the same on all of them, or choose others by the campaign's "
                           "`nodes`");
  }
  const std::string gpus =
      job.job.mixed_gpus ? "" : campaign::GpuMismatch(nodes, job.job.gpu_indices);
  if (gpus.empty()) return std::nullopt;
  return MakeFailure(v1::REASON_MIXED_GPUS,
                     "the gang has GPUs of several models: " + gpus +
                         "; choose nodes by the campaign's `nodes`, or set `mixed_gpus: true`");
}

Result<bool> Attempts::IsElsewhere(const std::string& node_id) const {
  if (sessions_.Has(node_id)) return false;
  return environment_.nodes.IsElsewhere(options_.coordinator_id, node_id, options_.lease);
}

Status Attempts::End(const LeasedJob& job, storage::FinishedAttempt attempt) {
  const JobEpoch epoch = EpochOf(job);
  attempt.job = epoch;
  attempt.term = leadership_.Term();
  ASSAY_ASSIGN_OR_RETURN(const storage::FinishOutcome outcome,
                         environment_.jobs.FinishAttempt(attempt));
  for (const std::string& name : outcome.quarantined) {
    Log().warn("node {} gets no more jobs until a check passes: it failed job after job", name);
  }
  const std::optional<MonotonicTime> start = running_.StartOf(epoch);
  const std::set<std::string> finished = running_.FinishedNodes(epoch);
  running_.Remove(epoch);
  for (const std::string& node_id : job.node_ids) {
    if (finished.count(node_id) > 0) {
      SendFinishedAck(node_id, epoch);
    } else if (outcome.held) {
      // Cancel the job on the node only if this attempt was still current. Otherwise, another
      // coordinator may lead the job, and the reply to the agent's next State message tells the
      // agent whether to stop.
      SendCancel(node_id, epoch, "the attempt is over");
    }
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

void Attempts::SendFinishedAck(const std::string& node_id, const JobEpoch& job) {
  v1::CoordinatorMessage message;
  message.mutable_job_finished_ack()->set_job_id(job.job_id);
  message.mutable_job_finished_ack()->set_epoch(job.epoch);
  sessions_.Send(node_id, std::move(message));
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
