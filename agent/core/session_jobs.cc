// The session's jobs: from Assign to JobFinishedAck, with leases and results.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <utility>

#include "agent/core/session.h"
#include "common/log.h"
#include "common/text.h"
#include "model/nccl_variables.h"
#include "wire/bounds.h"
#include "wire/durations.h"

namespace assay::agent {
namespace {

using State = AssignedJob::State;

constexpr Duration kDefaultLease = std::chrono::seconds(60);
constexpr Duration kDay = std::chrono::hours(24);
constexpr Duration kKeepUnknownFor = 7 * kDay;
constexpr Duration kDeletionPeriod = std::chrono::hours(1);
constexpr Duration kResendAfter = std::chrono::seconds(10);
constexpr size_t kMaxResultsInFlight = 16;
constexpr size_t kRememberedJobs = 256;
constexpr size_t kMaxJobs = 1024;
constexpr size_t kMaxTokenBytes = 64 << 10;
constexpr size_t kMaxJobIdBytes = 128;
constexpr int kMaxCases = 100'000;
constexpr int kMaxRanks = 4096;
// Ranks of a job that run on this node without GPUs.
constexpr int kMaxCpuRanks = 64;
// Coordinators allow a job to run for up to a day.
constexpr Duration kMaxTimeout = std::chrono::hours(24);
constexpr Duration kMaxLease = std::chrono::hours(24);
constexpr size_t kMaxReasonBytes = 1024;

std::optional<v1::Failure> BadAssignment(std::string message) {
  return MakeFailure(v1::REASON_BAD_ASSIGNMENT,
                     "the coordinator's assignment makes no sense: " + std::move(message));
}

// Returns the reason this node cannot run the job, or nullopt if it can. Checks every field of
// `spec`, which comes from another process and cannot be trusted.
std::optional<v1::Failure> RefusalOf(const v1::JobSpec& spec, const Node& node) {
  const int gpus = node.description().inventory().gpus_size();
  const auto& benchmarks = node.Schemas().benchmarks();
  if (spec.job_id().empty() || spec.job_id().size() > kMaxJobIdBytes) {
    return BadAssignment("its job id has " + std::to_string(spec.job_id().size()) + " bytes");
  }
  if (spec.cases_size() == 0 || spec.cases_size() > kMaxCases) {
    return BadAssignment("it has " + std::to_string(spec.cases_size()) + " cases");
  }
  if (spec.world_size() < 1 || spec.world_size() > kMaxRanks || spec.ranks_size() == 0) {
    return BadAssignment("it has " + std::to_string(spec.ranks_size()) + " of " +
                         std::to_string(spec.world_size()) + " ranks");
  }
  if (const Status bounded = schema::CheckBounds(spec, Reason::kNone); !bounded.ok()) {
    return BadAssignment(bounded.message());
  }
  if (FromProto(spec.timeout()) > kMaxTimeout) return BadAssignment("its timeout exceeds a day");
  std::set<int> ranks;
  for (const v1::RankPlacement& rank : spec.ranks()) {
    if (rank.rank() < 0 || rank.rank() >= spec.world_size() || !ranks.insert(rank.rank()).second) {
      return BadAssignment("rank " + std::to_string(rank.rank()) +
                           " is out of range or given twice");
    }
    if (rank.gpu_index() >= gpus) {
      return MakeFailure(v1::REASON_GPU_MISSING, "the job needs GPU " +
                                                     std::to_string(rank.gpu_index()) +
                                                     "; this node has " + std::to_string(gpus));
    }
  }
  for (const auto& [name, value] : spec.nccl()) {
    const Status sound = CheckNcclVariable(name, value);
    if (!sound.ok()) return BadAssignment(sound.message());
  }
  std::set<int> cases;
  for (const v1::BenchmarkCase& one : spec.cases()) {
    if (!cases.insert(one.case_index()).second) {
      return BadAssignment("case " + std::to_string(one.case_index()) + " is given twice");
    }
  }
  const auto schema =
      std::find_if(benchmarks.begin(), benchmarks.end(),
                   [&](const v1::BenchmarkSchema& one) { return one.name() == spec.benchmark(); });
  if (schema == benchmarks.end()) {
    return MakeFailure(v1::REASON_UNKNOWN_BENCHMARK,
                       "this node's runner has no benchmark \"" + spec.benchmark() + "\"");
  }
  // Every rank is a process.
  const int most = schema->resource() == v1::RESOURCE_KIND_GPU ? gpus : kMaxCpuRanks;
  if (spec.ranks_size() <= most) return std::nullopt;
  return BadAssignment("it has " + std::to_string(spec.ranks_size()) +
                       " ranks for this node, which runs " + std::to_string(most) + " at most");
}

}  // namespace

v1::RunningJob AssignedJob::Progress() const {
  v1::RunningJob progress;
  progress.set_job_id(spec.job_id());
  progress.set_epoch(spec.epoch());
  progress.set_cases_done(cases_done);
  progress.set_cases_total(spec.cases_size());
  progress.set_phase(state == State::kReporting ? "reporting" : phase);
  return progress;
}

MonotonicTime AssignedJob::StopTime() const {
  // Runners get two seconds between SIGTERM and SIGKILL.
  const Duration wanted = std::max<Duration>(std::chrono::seconds(3), lease_length / 10);
  return lease_deadline - std::min(wanted, lease_length / 3);
}

void AssignedJob::Extend(MonotonicTime from, Duration length) {
  if (from + length <= lease_deadline) return;
  lease_length = length;
  lease_deadline = from + length;
}

void AssignedJob::Stop(v1::Failure why) {
  stopping = true;
  launched->Stop(std::move(why));
}

void Session::OnAssign(const v1::Assign& assign) {
  const v1::JobSpec& spec = assign.job();
  const MonotonicTime now = options_.clock->Now();
  const Duration given = std::min(FromProto(assign.lease()), kMaxLease);
  const Duration lease = given > Duration::zero() ? given : kDefaultLease;
  if (AssignedJob* known = Find(spec.job_id(), spec.epoch())) {
    if (known->fleet_id == fleet_id_) return known->Extend(now, lease);
    return Log().error("job {} epoch {} is of another fleet; its assignment is ignored",
                       Cut(spec.job_id()), spec.epoch());
  }
  for (const v1::JobFinished& past : recently_finished_) {
    if (past.job_id() != spec.job_id() || past.epoch() < spec.epoch()) continue;
    if (past.epoch() > spec.epoch()) return;
    v1::AgentMessage message;
    *message.mutable_job_finished() = past;
    return link_->Send(std::move(message));
  }
  for (auto& [id, job] : jobs_) {
    if (id.first != spec.job_id() || job.fleet_id != fleet_id_) continue;
    if (id.second > spec.epoch()) return;
    job.replaced = true;
    if (job.launched != nullptr) {
      job.Stop(MakeFailure(v1::REASON_JOB_REPLACED, "the coordinator assigned the job anew"));
    }
  }
  std::erase_if(jobs_, [](const auto& entry) {
    return entry.second.replaced && entry.second.launched == nullptr;
  });
  AssignedJob job;
  job.spec = spec;
  job.fleet_id = fleet_id_;
  job.assign_time = now;
  job.Extend(now, lease);
  AssignedJob& added = jobs_.emplace(job.id(), std::move(job)).first->second;
  std::optional<v1::Failure> refusal = RefusalOf(spec, *options_.node);
  if (!refusal && handing_back_) {
    refusal = MakeFailure(v1::REASON_AGENT_STOPPED, handing_back_->reason);
  }
  if (!refusal && jobs_.size() > kMaxJobs) {
    refusal = MakeFailure(v1::REASON_TOO_MANY_JOBS,
                          "the agent has " + std::to_string(jobs_.size()) + " jobs");
  }
  if (!refusal && options_.spool->Full()) {
    refusal = MakeFailure(v1::REASON_SPOOL_FULL,
                          "the node's result spool is full of unacknowledged results");
  }
  if (refusal) {
    End(&added, {std::move(refusal), {}, {}});
  } else {
    StartWaitingJobs();
  }
  SendState();
}

bool Session::MayStart(const AssignedJob& job) const {
  if (job.state != State::kWaiting || job.replaced) return false;
  // Runners that were told to end may run for seconds more and would disturb the next measurement.
  return std::none_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    return entry.second.launched != nullptr &&
           (entry.second.stopping || entry.first.first == job.spec.job_id());
  });
}

void Session::StartWaitingJobs() {
  for (auto& [id, job] : jobs_) {
    if (MayStart(job) && options_.occupancy->TryEnterJob()) Launch(&job);
  }
}

void Session::Launch(AssignedJob* job) {
  job->state = State::kRunning;
  job->start_wait = options_.clock->Now() - job->assign_time;
  job->launched = options_.launcher->Launch(job->spec, EventsOf(job->id()));
}

JobEvents Session::EventsOf(const JobId& id) {
  return {
      [this, id](std::string phase) {
        Post([this, id, phase = std::move(phase)] { OnPhase(id, phase); });
      },
      [this, id](std::string token) {
        Post([this, id, token = std::move(token)] { OnGangReady(id, token); });
      },
      [this, id](v1::CaseResult result) {
        Post([this, id, result = std::move(result)] { OnResult(id, result); });
      },
      [this, id](JobOutcome outcome) {
        Post([this, id, outcome = std::move(outcome)] { OnOutcome(id, outcome); });
      },
  };
}

void Session::OnPhase(const JobId& id, const std::string& phase) {
  AssignedJob* job = Find(id.first, id.second);
  if (job == nullptr) return;
  job->phase = phase;
  Log().debug("job {} epoch {} is in phase {}", id.first, id.second, phase);
}

void Session::OnGangReady(const JobId& id, std::string token) {
  AssignedJob* job = Find(id.first, id.second);
  if (job == nullptr || job->replaced) return;
  job->gang_token = std::move(token);
  SendGangReady(*job);
}

void Session::SendGangReady(const AssignedJob& job) {
  if (phase_ != Phase::kLive || job.fleet_id != fleet_id_) return;
  v1::AgentMessage message;
  message.mutable_gang_ready()->set_job_id(job.spec.job_id());
  message.mutable_gang_ready()->set_epoch(job.spec.epoch());
  message.mutable_gang_ready()->set_rendezvous_token(*job.gang_token);
  link_->Send(std::move(message));
}

void Session::OnGangGo(const v1::GangGo& go) {
  AssignedJob* job = FindOfFleet(go.job_id(), go.epoch());
  if (job == nullptr || job->launched == nullptr || !job->gang_token) return;
  if (go.rendezvous_token().size() > kMaxTokenBytes) return;
  job->gang_token.reset();
  job->launched->Go(go.rendezvous_token());
}

void Session::OnCancel(const v1::CancelJob& cancel) {
  const std::string reason =
      cancel.reason().empty() ? "cancelled" : Cut(cancel.reason(), kMaxReasonBytes);
  const v1::Failure failure = MakeFailure(v1::REASON_CANCELLED, reason);
  bool ended = false;
  for (auto& [id, job] : jobs_) {
    if (id.first != cancel.job_id() || id.second > cancel.epoch()) continue;
    if (job.fleet_id != fleet_id_) continue;
    if (job.launched != nullptr) {
      job.Stop(failure);
    } else if (job.state == State::kWaiting) {
      End(&job, {failure, {}, {}});
      ended = true;
    }
  }
  if (ended) SendState();
}

void Session::OnResult(const JobId& id, const v1::CaseResult& result) {
  AssignedJob* job = Find(id.first, id.second);
  if (job == nullptr || job->replaced) return;
  Executor* const executor = options_.executor;
  const Status kept = options_.spool->Append(
      result, job->fleet_id,
      [this, executor, id, alive = std::weak_ptr<bool>(alive_)](Status lost) {
        executor->Post([this, id, alive, lost = std::move(lost)] {
          if (!alive.expired()) OnResultLost(id, lost);
        });
      });
  if (!kept.ok()) return OnResultLost(id, kept);
  ++job->cases_done;
  if (phase_ != Phase::kLive || job->fleet_id != fleet_id_) return;
  unsent_.push_back({id.first, id.second, result.case_index()});
  SendResults();
  Arm();
}

void Session::OnResultLost(const JobId& id, const Status& why) {
  Log().error("job {}: cannot keep a result: {}", id.first, why.message());
  AssignedJob* job = Find(id.first, id.second);
  if (job == nullptr || job->launched == nullptr) return;
  job->Stop(MakeFailure(ToWire(why.reason()), why.message()));
}

void Session::OnOutcome(const JobId& id, const JobOutcome& outcome) {
  AssignedJob* job = Find(id.first, id.second);
  if (job == nullptr) return;
  job->launched.reset();
  options_.occupancy->LeaveJob();
  if (job->replaced) {
    jobs_.erase(id);
  } else {
    End(job, outcome);
  }
  StartWaitingJobs();
  StartCheckIfIdle();
  UpdateStats();
  LeaveIfHandedBack();
  Arm();
}

void Session::End(AssignedJob* job, const JobOutcome& outcome) {
  job->state = State::kReporting;
  job->gang_token.reset();
  v1::JobFinished& finished = job->finished.emplace();
  finished.set_job_id(job->spec.job_id());
  finished.set_epoch(job->spec.epoch());
  if (outcome.failure) {
    *finished.mutable_failure() = *outcome.failure;
    if (outcome.failure->node_id().empty()) {
      finished.mutable_failure()->set_node_id(options_.node->description().node_id());
    }
    const bool planned = outcome.failure->reason() == v1::REASON_AGENT_STOPPED;
    Log().log(planned ? spdlog::level::info : spdlog::level::warn, "job {} epoch {} {}: {} ({})",
              job->spec.job_id(), job->spec.epoch(), planned ? "is handed back" : "failed",
              outcome.failure->message(), ReasonWord(outcome.failure->reason()));
  }
  *finished.mutable_start_delay() = ToProto(job->start_wait + outcome.start_delay);
  *finished.mutable_runner_time() = ToProto(outcome.runner_time);
  SendFinishedIfReported(job);
}

void Session::SendFinishedIfReported(AssignedJob* job) {
  if (phase_ != Phase::kLive || !job->finished || job->finished_sent) return;
  if (job->fleet_id != fleet_id_ || HasUnreportedResults(*job)) return;
  job->finished_sent = options_.clock->Now();
  v1::AgentMessage message;
  *message.mutable_job_finished() = *job->finished;
  link_->Send(std::move(message));
}

bool Session::HasUnreportedResults(const AssignedJob& job) const {
  const std::string& job_id = job.spec.job_id();
  const int64_t epoch = job.spec.epoch();
  const auto reported = std::distance(unknown_.lower_bound({job_id, epoch, INT32_MIN}),
                                      unknown_.upper_bound({job_id, epoch, INT32_MAX}));
  return options_.spool->CountOf(job_id, epoch) > static_cast<size_t>(reported);
}

void Session::SendResults() {
  while (phase_ == Phase::kLive && !unsent_.empty() && in_flight_.size() < kMaxResultsInFlight) {
    const ResultKey key = std::move(unsent_.front());
    unsent_.pop_front();
    Result<v1::CaseResult> result = options_.spool->Read(key);
    // The result was acknowledged in the meantime, or its file is damaged.
    if (!result.ok()) continue;
    in_flight_[key] = options_.clock->Now();
    v1::AgentMessage message;
    *message.mutable_case_result() = std::move(*result);
    link_->Send(std::move(message));
  }
}

void Session::OnResultAck(const v1::ResultAck& ack) {
  if (ack.verdict() == v1::ResultAck::VERDICT_UNSPECIFIED) return;
  if (ack.verdict() == v1::ResultAck::VERDICT_STORED) {
    Log().debug("case {} of job {} epoch {} is stored", ack.case_index(), Cut(ack.job_id()),
                ack.epoch());
  } else {
    Log().warn("the coordinator did not store case {} of job {} epoch {}: {} ({})",
               ack.case_index(), Cut(ack.job_id()), ack.epoch(),
               Cut(ack.message(), kMaxReasonBytes), v1::ResultAck::Verdict_Name(ack.verdict()));
  }
  const ResultKey key{ack.job_id(), ack.epoch(), ack.case_index()};
  // Ignore the acknowledgement if the result belongs to another fleet.
  if (!options_.spool->Has(key, fleet_id_)) return;
  switch (ack.verdict()) {
    case v1::ResultAck::VERDICT_STORED:
    case v1::ResultAck::VERDICT_STALE:
      options_.spool->Remove(key);
      break;
    case v1::ResultAck::VERDICT_REJECTED:
      options_.spool->Reject(key);
      break;
    case v1::ResultAck::VERDICT_UNKNOWN_JOB:
      KeepUnknown(key);
      break;
    default:
      return;  // A verdict of a later revision.
  }
  in_flight_.erase(key);
  SendResults();
  if (AssignedJob* job = FindOfFleet(ack.job_id(), ack.epoch())) SendFinishedIfReported(job);
}

void Session::KeepUnknown(const ResultKey& key) {
  if (DeleteIfOld(key)) return;
  unknown_.insert(key);
  next_deletion_ = std::min(next_deletion_, options_.clock->Now() + kDeletionPeriod);
}

bool Session::DeleteIfOld(const ResultKey& key) {
  if (!options_.spool->IsOlderThan(key, kKeepUnknownFor)) return false;
  Log().warn(
      "the result of case {} of job {} epoch {} is deleted: it is older than {} days, and the "
      "coordinator does not know the job",
      key.case_index, Cut(key.job_id), key.epoch, kKeepUnknownFor / kDay);
  options_.spool->Remove(key);
  return true;
}

void Session::DeleteUnknown(MonotonicTime now) {
  if (now < next_deletion_) return;
  std::erase_if(unknown_, [this](const ResultKey& key) { return DeleteIfOld(key); });
  next_deletion_ = unknown_.empty() ? MonotonicTime::max() : now + kDeletionPeriod;
}

void Session::OnJobFinishedAck(const v1::JobFinishedAck& ack) {
  const AssignedJob* job = FindOfFleet(ack.job_id(), ack.epoch());
  if (job == nullptr || job->state != State::kReporting) return;
  recently_finished_.push_back(*job->finished);
  if (recently_finished_.size() > kRememberedJobs) recently_finished_.pop_front();
  jobs_.erase({ack.job_id(), ack.epoch()});
}

void Session::OnLeaseRenewal(const v1::LeaseRenewal& renewal) {
  const auto sent = sent_states_.find(renewal.sequence());
  if (sent == sent_states_.end()) return;
  for (const v1::RunningJob& running : renewal.jobs()) {
    if (AssignedJob* job = FindOfFleet(running.job_id(), running.epoch())) {
      job->Extend(sent->second, std::min(FromProto(renewal.lease()), kMaxLease));
    }
  }
}

void Session::CheckLeases(MonotonicTime now) {
  const v1::Failure lost =
      MakeFailure(v1::REASON_LEASE_LOST, "the coordinator did not renew the job's lease in time");
  for (auto& [id, job] : jobs_) {
    if (job.state == State::kReporting || now < job.StopTime()) continue;
    if (job.launched == nullptr) {
      End(&job, {lost, {}, {}});
      continue;
    }
    job.Stop(lost);
    job.lease_deadline = MonotonicTime::max();  // Stops the job only once.
  }
}

void Session::Resend(MonotonicTime now) {
  for (auto sent = in_flight_.begin(); sent != in_flight_.end();) {
    if (now < sent->second + kResendAfter) {
      ++sent;
      continue;
    }
    unsent_.push_back(sent->first);
    sent = in_flight_.erase(sent);
  }
  SendResults();
  for (auto& [id, job] : jobs_) {
    if (job.finished_sent && now >= *job.finished_sent + kResendAfter) {
      job.finished_sent.reset();
      SendFinishedIfReported(&job);
    }
  }
}

MonotonicTime Session::NextDeadline() const {
  MonotonicTime next = std::min({hello_deadline_, next_heartbeat_, next_deletion_});
  if (handing_back_ && handing_back_->done) next = std::min(next, handing_back_->deadline);
  for (const auto& [id, job] : jobs_) {
    if (job.state != State::kReporting) next = std::min(next, job.StopTime());
    if (phase_ == Phase::kLive && job.finished_sent) {
      next = std::min(next, *job.finished_sent + kResendAfter);
    }
  }
  if (phase_ == Phase::kLive) {
    for (const auto& [key, sent] : in_flight_) next = std::min(next, sent + kResendAfter);
  }
  return next;
}

}  // namespace assay::agent
