#include "coordinator/core/attempts/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "campaign/accept_rule.h"
#include "campaign/accept_verdict.h"
#include "campaign/spec_checks.h"
#include "common/log.h"
#include "common/text.h"
#include "common/units.h"
#include "coordinator/core/attempts/blame.h"
#include "coordinator/core/guarded.h"
#include "storage/store_rules.h"
#include "wire/reasons.h"

namespace assay::coordinator {
namespace {

using storage::LeasedJob;

constexpr int kClaimLimit = 64;
constexpr int kExpiredLimit = 256;
constexpr int kDrainedLimit = 256;
// Time an agent may take beyond a job's timeout to start the job, stop it and report its end.
constexpr Duration kTimeoutSlack = std::chrono::minutes(5);

}  // namespace

Scheduler::Scheduler(const Environment& environment, const Options& options, Leadership& leadership,
                     RunningJobs& running, Sessions& sessions, Quarantine& quarantine,
                     Attempts& attempts, Watchers& watchers, Outage& outage, GracePeriod& grace,
                     std::function<Status()> run_schedules)
    : environment_(environment),
      options_(options),
      leadership_(leadership),
      running_(running),
      sessions_(sessions),
      quarantine_(quarantine),
      attempts_(attempts),
      watchers_(watchers),
      outage_(outage),
      grace_(grace),
      run_schedules_(std::move(run_schedules)) {}

void Scheduler::Start() {
  // Take part in the leader election before the first agent connects, because coordinators other
  // than the leader turn agents away.
  outage_.Note(Elect());
  environment_.executor.Post([self = shared_from_this()] { self->Poll(); });
}

void Scheduler::Kick() {
  {
    MutexLock lock(mutex_);
    if (claiming_) {
      claim_again_ = true;
      return;
    }
    claiming_ = true;
  }
  environment_.executor.Post([self = shared_from_this()] { self->Claim(); });
}

void Scheduler::OnAttemptEnded(const Attempts::Ended& ended) {
  watchers_.Notify(ended.outcome.campaign_id);
  Kick();
  if (ended.requeued && ended.delay > Duration(0)) {
    environment_.executor.PostAfter(ended.delay, [self = shared_from_this()] { self->Kick(); });
  }
  if (ended.outcome.campaign_ended) JudgeSoon(ended.outcome.campaign_id);
}

void Scheduler::JudgeSoon(const std::string& campaign_id) {
  environment_.executor.Post([self = shared_from_this(), campaign_id] {
    // A failure here is not final, because the next poll judges every campaign without a verdict.
    const Status judged = Guarded("JudgeOne", [&] { return self->JudgeOne(campaign_id); });
    if (!self->outage_.NoteFailure(judged) && !judged.ok()) {
      Log().error("campaign {} has no verdict: {}", campaign_id, judged.ToString());
    }
  });
}

void Scheduler::Claim() {
  bool more = true;
  while (more && !stopped_ && leadership_.IsLeader()) {
    more = false;
    const Status claimed = Guarded("Claim", [&] { return ClaimOnce(more); });
    if (outage_.NoteFailure(claimed)) break;
    if (!claimed.ok()) {
      Log().error("jobs could not be claimed: {}", claimed.ToString());
      break;
    }
  }
  {
    MutexLock lock(mutex_);
    claiming_ = std::exchange(claim_again_, false);
    if (!claiming_) return;
  }
  environment_.executor.Post([self = shared_from_this()] { self->Claim(); });
}

Status Scheduler::ClaimOnce(bool& more) {
  storage::JobStore::ClaimRequest request;
  request.owner = options_.coordinator_id;
  request.lease = options_.lease;
  request.node_ids = sessions_.AssignableNodeIds(2 * options_.heartbeat);
  request.limit = kClaimLimit;
  request.term = leadership_.Term();
  if (request.node_ids.empty()) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(const std::vector<LeasedJob> claimed,
                         environment_.jobs.ClaimJobs(request));
  for (const LeasedJob& job : claimed) {
    environment_.observer.JobStarted(job.job.benchmark);
    const Status begun = attempts_.Begin(job);
    // An error can be ignored: the job's lease expires, and then SweepExpired ends the attempt.
    if (!begun.ok()) Log().warn("job {} did not begin: {}", job.job.job_id, begun.ToString());
    watchers_.Notify(job.campaign_id);
  }
  // Claim again after a job on several nodes: for such jobs, only the head of a queue was examined.
  more = static_cast<int>(claimed.size()) == kClaimLimit ||
         std::any_of(claimed.begin(), claimed.end(),
                     [](const LeasedJob& job) { return job.node_ids.size() > 1; });
  return Status::Ok();
}

void Scheduler::Poll() {
  if (stopped_) return;
  grace_.BeginPoll();
  const Status status = Guarded("Poll", [this]() -> Status {
    ASSAY_RETURN_IF_ERROR(Elect());
    if (!leadership_.IsLeader()) return Status::Ok();
    // Another coordinator may have changed labels and prices.
    ASSAY_RETURN_IF_ERROR(RefreshSettings());
    ASSAY_RETURN_IF_ERROR(Sweep());
    ASSAY_RETURN_IF_ERROR(JudgeAll());
    // Until all agents have had time to connect, a scheduled campaign would miss nodes.
    return grace_.Active() ? Status::Ok() : run_schedules_();
  });
  const bool away = outage_.Note(status);
  if (!away && !status.ok()) Log().error("the scheduler's poll failed: {}", status.ToString());
  watchers_.NotifyAll();
  Kick();
  grace_.EndPoll(options_.poll, away);
  environment_.executor.PostAfter(options_.poll, [self = shared_from_this()] { self->Poll(); });
}

Status Scheduler::Elect() {
  ASSAY_ASSIGN_OR_RETURN(const Leadership::Change change, leadership_.Renew());
  if (change == Leadership::Change::kGained) {
    grace_.Begin();
    // Read the labels and prices before the first agent connects, because its results contain them.
    ASSAY_RETURN_IF_ERROR(RefreshSettings());
  }
  if (change == Leadership::Change::kLost) {
    running_.Clear();
    sessions_.CloseAll(
        Duration(0), leadership_.LeaderAddress(),
        Unavailable("another coordinator schedules the fleet now", Reason::kOtherCoordinator));
  }
  return Status::Ok();
}

Status Scheduler::Sweep() {
  ASSAY_RETURN_IF_ERROR(quarantine_.CheckDue());
  ASSAY_RETURN_IF_ERROR(attempts_.DecideOverdue());
  if (grace_.Active()) return Status::Ok();
  ASSAY_RETURN_IF_ERROR(SweepLost());
  ASSAY_RETURN_IF_ERROR(SweepUnprepared());
  ASSAY_RETURN_IF_ERROR(SweepOverdue());
  ASSAY_RETURN_IF_ERROR(SweepDrained());
  return SweepExpired();
}

Status Scheduler::RefreshSettings() {
  ASSAY_ASSIGN_OR_RETURN(Sessions::Settings settings, environment_.nodes.ListSettings());
  sessions_.SetSettings(std::move(settings));
  return Status::Ok();
}

Status Scheduler::SweepLost() {
  const auto in_session = [this](const std::string& node_id) { return sessions_.Has(node_id); };
  for (const RunningJobs::Lost& lost :
       running_.LostSince(options_.Silence(), 2 * options_.heartbeat, in_session)) {
    ASSAY_ASSIGN_OR_RETURN(const bool elsewhere, attempts_.IsElsewhere(lost.node_id));
    if (elsewhere) {
      running_.Remove({lost.job.job.job_id, lost.job.epoch});
      continue;
    }
    const std::string message =
        fmt::format("the agent of node {} has not spoken of the job for {}",
                    running_.NameOf({lost.job.job.job_id, lost.job.epoch}, lost.node_id),
                    FormatDuration(environment_.clock.Now() - lost.last_seen));
    ASSAY_RETURN_IF_ERROR(attempts_.Fail(lost.job, AgentLost(lost.node_id, message)));
  }
  return Status::Ok();
}

// Frees the nodes of gangs that are not ready in time.
Status Scheduler::SweepUnprepared() {
  for (const GangWait& wait : running_.UnpreparedSince(options_.prepare)) {
    std::vector<std::string> late = LateNodes(wait);
    if (wait.adopted) late.clear();
    const v1::Failure failure =
        late.empty()
            ? MakeFailure(v1::REASON_GANG_NOT_STARTED, DescribeWait(wait))
            : MakeFailure(v1::REASON_GANG_NOT_READY, DescribeWait(wait) + "; " + WhyLate(wait));
    ASSAY_RETURN_IF_ERROR(attempts_.Fail(wait.job, failure, late));
  }
  return Status::Ok();
}

// Ends attempts that have far exceeded their job's timeout. A working agent ends the job itself, so
// this is only needed if an agent is broken or hostile.
Status Scheduler::SweepOverdue() {
  for (const LeasedJob& job : running_.OverdueSince(kTimeoutSlack)) {
    ASSAY_RETURN_IF_ERROR(attempts_.Fail(
        job, MakeFailure(v1::REASON_TIMEOUT, "the agent did not end the job, whose timeout is " +
                                                 FormatDuration(job.job.timeout))));
  }
  return Status::Ok();
}

// Stops jobs that still run on nodes whose drain deadline has passed, and queues them again.
Status Scheduler::SweepDrained() {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<storage::JobStore::DrainedJob> drained,
                         environment_.jobs.ListDrained(kDrainedLimit));
  for (const auto& [job, nodes] : drained) {
    const auto count = static_cast<int64_t>(nodes.size());
    ASSAY_RETURN_IF_ERROR(attempts_.Fail(
        job, MakeFailure(v1::REASON_NODE_DRAINED,
                         fmt::format("{} {} {} drained, and the job still ran at the deadline",
                                     Plural(count, "node"), JoinSome(nodes),
                                     Plural(count, "was", "were")))));
  }
  return Status::Ok();
}

// Ends attempts whose lease has expired, usually because the coordinator leading them has died.
// Leaves an attempt alone if one of its agents has told this process about the job. If that agent
// falls silent, SweepLost ends the attempt with a more specific reason.
Status Scheduler::SweepExpired() {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<LeasedJob> expired,
                         environment_.jobs.ListExpired(2 * options_.poll, kExpiredLimit));
  for (const LeasedJob& job : expired) {
    const storage::JobEpoch epoch{job.job.job_id, job.epoch};
    // An agent has reported the job recently, and the renewal of its lease is under way.
    if (running_.AwaitsHeard(epoch)) continue;
    const char* const why =
        running_.Find(epoch)
            ? "the lease expired: the coordinator or its database was away, and no agent that was "
              "heard since has a part of the job left"
            : "the lease expired: the coordinator that led the job was away, and none of its "
              "agents has spoken of it since";
    ASSAY_RETURN_IF_ERROR(attempts_.Fail(job, MakeFailure(v1::REASON_LEASE_LOST, why)));
  }
  return Status::Ok();
}

Status Scheduler::JudgeAll() {
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> unjudged, environment_.jobs.ListUnjudged());
  for (const std::string& campaign_id : unjudged) {
    const Status judged = Guarded("JudgeOne", [&] { return JudgeOne(campaign_id); });
    if (judged.code() == Code::kUnavailable) return judged;
    if (!judged.ok()) Log().error("campaign {} has no verdict: {}", campaign_id, judged.ToString());
  }
  return Status::Ok();
}

Result<v1::JobCounts> Scheduler::CountJobsFrom(int repetition, const std::string& campaign_id) {
  constexpr int kPageSize = 1000;
  v1::JobCounts counts;
  PageRequest request{kPageSize, ""};
  do {
    ASSAY_ASSIGN_OR_RETURN(const Page<v1::Job> page,
                           environment_.jobs.ListJobs(campaign_id, request));
    for (const v1::Job& job : page.items) {
      if (job.repetition() >= repetition) storage::AddToCounts(job.state(), 1, &counts);
    }
    request.token = page.next_token;
  } while (!request.token.empty());
  return counts;
}

Status Scheduler::JudgeOne(const std::string& campaign_id) {
  ASSAY_ASSIGN_OR_RETURN(v1::Campaign campaign, environment_.jobs.GetCampaign(campaign_id));
  if (campaign.state() == v1::CAMPAIGN_STATE_ACTIVE ||
      campaign.verdict() != v1::VERDICT_UNSPECIFIED) {
    return Status::Ok();
  }
  // Judge only the latest run of all jobs.
  const int latest =
      storage::LatestRun(campaign.reruns(), campaign::RepetitionsOf(campaign.spec()));
  if (latest > 1) {
    ASSAY_ASSIGN_OR_RETURN(*campaign.mutable_jobs(), CountJobsFrom(latest, campaign_id));
  }
  std::vector<v1::StoredResult> results;
  std::map<std::string, int> gpu_indices;
  if (!campaign.spec().accept().empty()) {
    ASSAY_ASSIGN_OR_RETURN(results, environment_.results.ListOfCampaign(campaign_id));
    std::erase_if(results, [&](const auto& result) { return result.repetition() < latest; });
    ASSAY_ASSIGN_OR_RETURN(
        const std::vector<v1::Node> nodes,
        environment_.nodes.ListNodes(options_.Silence(), storage::NodeStore::Benchmarks::kNo));
    for (const v1::Node& node : nodes) {
      for (const v1::GpuInventory& gpu : node.description().inventory().gpus()) {
        gpu_indices[gpu.uuid()] = gpu.index();
      }
    }
  }
  campaign::VerdictContext context;
  context.gpu_names = [&](const std::string& uuid) {
    const auto found = gpu_indices.find(uuid);
    return found == gpu_indices.end() ? uuid : fmt::format("GPU {}", found->second);
  };
  for (const v1::AcceptRule& rule : campaign.spec().accept()) {
    const Result<campaign::AcceptRule> parsed = campaign::ParseAcceptRule(rule.text());
    if (!parsed.ok() || parsed->baseline.empty()) continue;
    Result<v1::Baseline> baseline = environment_.analysis.GetBaseline(parsed->baseline);
    if (baseline.ok()) context.baselines[parsed->baseline] = *std::move(baseline);
    if (baseline.status().code() == Code::kUnavailable) return baseline.status();
  }
  const campaign::CampaignVerdict outcome = campaign::Judge(campaign, results, context);
  ASSAY_RETURN_IF_ERROR(environment_.jobs.SetVerdict(campaign_id, outcome.verdict, outcome.rules));
  const char* end = campaign.state() == v1::CAMPAIGN_STATE_CANCELLED ? "was cancelled"
                    : outcome.verdict == v1::VERDICT_PASSED          ? "passed"
                                                                     : "failed";
  Log().info("campaign {} ({}) {}", campaign.name(), campaign_id, end);
  watchers_.Notify(campaign_id);
  return Status::Ok();
}

}  // namespace assay::coordinator
