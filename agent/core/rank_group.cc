#include "agent/core/rank_group.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "agent/core/runner_environment.h"
#include "common/log.h"
#include "common/text.h"
#include "common/units.h"

namespace assay::agent {
namespace {

// The time from Finished to the end of the process, in which CUDA and NCCL release their resources.
constexpr Duration kExitGrace = std::chrono::seconds(10);
// The time from SIGTERM to SIGKILL.
constexpr Duration kStopGrace = std::chrono::seconds(2);
// The time from the first rank's failure until the others are stopped.
constexpr Duration kOthersMayEnd = std::chrono::seconds(1);
// Limits on a failure that a runner reports.
constexpr size_t kMaxMessageBytes = 16 << 10;
constexpr size_t kMaxEvidenceBytes = 64 << 10;
constexpr size_t kMaxPhaseBytes = 64;
// A result travels in one gRPC message of at most 16 MiB.
constexpr size_t kMaxResultBytes = 8 << 20;
// Far more than the three phases of each case.
constexpr size_t kMaxEventsPerCase = 32;

Status ProtocolError(std::string message) {
  return Status(Code::kDataLoss, Reason::kRunnerProtocol, std::move(message));
}

// Returns true if a runner process may report `failure` as its reason for giving up. Accepts only
// reasons that the agent cannot detect itself. With other reasons, a broken runner could cancel the
// job or prevent its retry.
bool MayAbortWith(const v1::Failure& failure, bool gang) {
  if (failure.message().size() > kMaxMessageBytes ||
      failure.evidence().size() > kMaxEvidenceBytes) {
    return false;
  }
  switch (failure.reason()) {
    case v1::REASON_GPU_LOST:
    case v1::REASON_GPU_BUSY:
    case v1::REASON_GPU_UNUSABLE:
    case v1::REASON_GPU_CONTEXT_LOST:
      return true;
    case v1::REASON_ADDRESS_UNUSABLE:
    case v1::REASON_VERSION_MISMATCH:
    case v1::REASON_MIXED_GPUS:
      return gang;
    default:
      return gang && IsPeerLoss(failure.reason());
  }
}

int PollTimeout(MonotonicTime deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      deadline - MonotonicTime(std::chrono::steady_clock::now()));
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
}

}  // namespace

std::string CaseName(const v1::JobSpec& spec, int case_index) {
  constexpr size_t kMost = 8;
  std::string name = "case " + std::to_string(int64_t{case_index} + 1);
  const auto found =
      std::find_if(spec.cases().begin(), spec.cases().end(),
                   [&](const v1::BenchmarkCase& one) { return one.case_index() == case_index; });
  if (found == spec.cases().end()) return name;
  const auto differs = [&](const std::string& parameter, const std::string& value) {
    return std::any_of(spec.cases().begin(), spec.cases().end(), [&](const auto& one) {
      const auto other = one.parameters().find(parameter);
      return other == one.parameters().end() || other->second != value;
    });
  };
  std::vector<std::string> parts;
  for (const auto& [parameter, value] :
       std::map<std::string, std::string>(found->parameters().begin(), found->parameters().end())) {
    if (differs(parameter, value)) parts.push_back(parameter + "=" + value);
  }
  return parts.empty() ? name : name + " (" + JoinSome(parts, kMost) + ")";
}

RankGroup::RankGroup(Options options, const JobEvents& events)
    : options_(std::move(options)),
      events_(events),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (const v1::BenchmarkCase& one : options_.spec.cases()) {
    missing_cases_.insert(one.case_index());
  }
}

RankGroup::~RankGroup() = default;

void RankGroup::Go(std::string token) {
  {
    MutexLock lock(mutex_);
    go_request_ = std::move(token);
  }
  ::eventfd_write(wake_.get(), 1);
}

void RankGroup::Stop(v1::Failure why) {
  {
    MutexLock lock(mutex_);
    if (!stop_request_) stop_request_ = std::move(why);
  }
  ::eventfd_write(wake_.get(), 1);
}

std::optional<v1::Failure> RankGroup::Run(const std::function<void()>& on_started) {
  start_ = std::chrono::steady_clock::now();
  deadline_ = start_ + options_.timeout;
  events_.phase("starting");
  TakeRequests();
  if (phase_ == Phase::kStopping) return failure_;
  if (SpawnAll()) on_started();
  while (!AllGone()) {
    PollOnce();
    TakeRequests();
    for (RankState& state : ranks_) {
      if (!state.gone) Serve(&state);
    }
    CheckDeadlines();
  }
  return failure_;
}

bool RankGroup::SpawnAll() {
  for (const Rank& rank : options_.ranks) {
    auto process = RankProcess::Spawn(
        {options_.runner, "serve",
         RunnerEnvironment(rank.gpu_uuid, options_.cache_folder, options_.nccl)});
    if (!process.ok()) {
      Fail(MakeFailure(
          v1::REASON_RUNNER_SPAWN_FAILED,
          "rank " + std::to_string(rank.rank) + " did not start: " + process.status().message()));
      return !ranks_.empty();
    }
    RankState& state = ranks_.emplace_back(rank.rank, std::move(*process));
    v1::RunnerCommand command;
    v1::RunnerStart* start = command.mutable_start();
    start->set_benchmark(options_.spec.benchmark());
    *start->mutable_cases() = options_.spec.cases();
    start->set_rank(rank.rank);
    start->set_world_size(options_.spec.world_size());
    start->set_seed(options_.spec.seed());
    start->set_counters(options_.spec.counters());
    start->set_mixed_gpus(options_.spec.mixed_gpus());
    start->set_effort(options_.spec.effort());
    start->set_advertise_address(options_.advertise_address);
    state.process.Send(command);
  }
  return true;
}

void RankGroup::PollOnce() {
  std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0}};
  for (const RankState& state : ranks_) {
    if (!state.gone) state.process.AddPollFds(&fds);
  }
  ::poll(fds.data(), fds.size(), PollTimeout(NextDeadline()));
}

MonotonicTime RankGroup::NextDeadline() const {
  if (phase_ == Phase::kStopping) return killed_ ? MonotonicTime::max() : kill_time_;
  MonotonicTime next = std::min(deadline_, PrepareDeadline());
  if (others_may_end_) next = std::min(next, *others_may_end_);
  for (const RankState& state : ranks_) {
    if (state.partial_since) next = std::min(next, *state.partial_since + options_.event_patience);
  }
  return next;
}

void RankGroup::TakeRequests() {
  eventfd_t ignored = 0;
  ::eventfd_read(wake_.get(), &ignored);
  std::optional<v1::Failure> stop;
  std::optional<std::string> go;
  {
    MutexLock lock(mutex_);
    stop = std::exchange(stop_request_, std::nullopt);
    if (phase_ == Phase::kWaiting) go = std::exchange(go_request_, std::nullopt);
  }
  if (stop) Fail(std::move(*stop));
  if (go && phase_ == Phase::kWaiting) SendToken(*go);
}

void RankGroup::Serve(RankState* state) {
  // Before reading the pipes of the runner process, check whether it has exited. In the opposite
  // order, anything that it wrote between the two steps, just before exiting, would be lost. If it
  // has written more than Service() reads at once, the rest is lost anyway.
  const std::optional<ExitStatus> exit = state->process.Exited();
  const Status status = state->process.Service(
      [this, state](const v1::RunnerEvent& event) { return OnEvent(state, event); });
  if (!status.ok()) FailRank(*state, v1::REASON_RUNNER_PROTOCOL, status.message());
  if (!state->process.HasPartialEvent()) {
    state->partial_since.reset();
  } else if (!state->partial_since) {
    state->partial_since = std::chrono::steady_clock::now();
  }
  if (exit) OnExit(state, *exit);
}

void RankGroup::OnExit(RankState* state, const ExitStatus& exit) {
  state->gone = true;
  state->process.CloseInput();
  if (state->aborted) return;
  if (state->finished) {
    if (!exit.ok()) {
      Log().warn("rank {} of job {} {} after it had finished", state->rank, options_.spec.job_id(),
                 exit.ToString());
    }
    return;
  }
  std::string message = exit.ToString();
  if (state->process.HasPartialEvent()) message += " in the middle of an event";
  KeepOfEndedRank(
      FailureOf(*state, v1::REASON_RUNNER_CRASHED, "the runner " + message + Where(*state)),
      exit.signal != 0 ? Detail::kSignal : Detail::kExit);
}

std::string RankGroup::Where(const RankState& state) const {
  return state.ready ? LastSeen() : " before it was ready";
}

std::string RankGroup::LastPhase() const {
  return (last_case_ ? CaseName(options_.spec, *last_case_) + ", " : "") + last_phase_;
}

std::string RankGroup::LastSeen() const {
  return last_phase_.empty() ? "" : ", last seen in: " + LastPhase();
}

std::string RankGroup::Who(const RankState& state) const {
  const std::string rank = "rank " + std::to_string(state.rank);
  return Spread() ? rank + " on node " + options_.node_name : rank;
}

std::string RankGroup::WhoOf(bool (*holds)(const RankState&)) const {
  std::vector<std::string> numbers;
  for (const RankState& state : ranks_) {
    if (holds(state)) numbers.push_back(std::to_string(state.rank));
  }
  return RankList(numbers) + (Spread() ? " on node " + options_.node_name : "");
}

Status RankGroup::OnEvent(RankState* state, const v1::RunnerEvent& event) {
  const size_t cases = static_cast<size_t>(options_.spec.cases_size());
  if (++state->events > kMaxEventsPerCase * (cases + 1)) {
    return ProtocolError("the runner sent " + std::to_string(state->events) + " events for " +
                         std::to_string(cases) + " cases");
  }
  if (state->finished) return ProtocolError("the runner sent an event after Finished");
  if (!state->ready && !event.has_ready() && !event.has_aborted()) {
    return ProtocolError("the runner's first event was neither Ready nor Aborted");
  }
  switch (event.kind_case()) {
    case v1::RunnerEvent::kReady:
      if (state->ready) return ProtocolError("the runner was Ready twice");
      state->ready = true;
      if (state->rank == 0) token_ = event.ready().rendezvous_token();
      if (std::all_of(ranks_.begin(), ranks_.end(), [](const auto& one) { return one.ready; }) &&
          ranks_.size() == options_.ranks.size()) {
        OnAllReady();
      }
      return Status::Ok();
    case v1::RunnerEvent::kCaseStarted: {
      const std::string& phase = event.case_started().phase();
      if (phase.size() > kMaxPhaseBytes) {
        return ProtocolError("the runner named a phase with " + std::to_string(phase.size()) +
                             " bytes");
      }
      last_case_ = event.case_started().case_index();
      last_phase_ = phase;
      if (state->rank == 0) events_.phase(phase);
      return Status::Ok();
    }
    case v1::RunnerEvent::kCaseResult:
      return OnResult(*state, event.case_result());
    case v1::RunnerEvent::kFinished:
      return OnFinished(state);
    case v1::RunnerEvent::kAborted:
      return OnAborted(state, event.aborted());
    default:
      return ProtocolError("the runner sent an event that has no place while serving");
  }
}

Status RankGroup::OnResult(const RankState& state, const v1::CaseResult& result) {
  if (state.rank != 0) {
    return ProtocolError("rank " + std::to_string(state.rank) + " sent a result; only rank 0 does");
  }
  if (result.ByteSizeLong() > kMaxResultBytes) {
    return ProtocolError("the runner sent a result of " +
                         FormatBytes(static_cast<int64_t>(result.ByteSizeLong())) +
                         "; the limit is " + FormatBytes(kMaxResultBytes));
  }
  if (missing_cases_.erase(result.case_index()) == 0) {
    return ProtocolError("the runner sent a result for case " +
                         std::to_string(result.case_index()) +
                         ", which it was not given or had answered");
  }
  if (phase_ != Phase::kStopping) events_.result(result);
  return Status::Ok();
}

Status RankGroup::OnAborted(RankState* state, const v1::RunnerAborted& aborted) {
  const v1::Failure& failure = aborted.failure();
  if (!MayAbortWith(failure, options_.spec.world_size() > 1)) {
    return ProtocolError("the runner gave up for no reason that it may name");
  }
  state->aborted = true;
  v1::Failure mine = FailureOf(*state, failure.reason(), failure.message());
  if (!failure.evidence().empty()) mine.set_evidence(failure.evidence());
  if (!IsPeerLoss(failure.reason())) {
    // A rank may report the cause while the group is stopped because of its crash.
    Keep(std::move(mine), Detail::kCause);
    if (phase_ != Phase::kStopping) End();
    return Status::Ok();
  }
  *mine.mutable_peer_loss() = failure.peer_loss();
  mine.set_message(mine.message() + Where(*state));
  KeepOfEndedRank(std::move(mine), failure.reason() == v1::REASON_PEER_LOST ? Detail::kPeerLost
                                                                            : Detail::kPeerSilent);
  return Status::Ok();
}

Status RankGroup::OnFinished(RankState* state) {
  if (state->rank == 0 && !missing_cases_.empty()) {
    return ProtocolError("the runner finished without results for " +
                         std::to_string(missing_cases_.size()) + " of its cases");
  }
  state->finished = true;
  state->process.CloseInput();
  const bool all =
      std::all_of(ranks_.begin(), ranks_.end(), [](const auto& one) { return one.finished; });
  if (all && phase_ != Phase::kStopping) {
    deadline_ = std::min(deadline_, MonotonicTime(std::chrono::steady_clock::now() + kExitGrace));
  }
  return Status::Ok();
}

void RankGroup::OnAllReady() {
  if (phase_ != Phase::kStarting) return;
  phase_ = Phase::kRunning;
  if (options_.spec.world_size() <= 1) return;
  if (static_cast<int>(ranks_.size()) == options_.spec.world_size()) {
    SendToken(token_);
    return;
  }
  phase_ = Phase::kWaiting;
  last_phase_ = "ready";
  events_.phase(last_phase_);
  events_.gang_ready(token_);
}

void RankGroup::SendToken(const std::string& token) {
  phase_ = Phase::kRunning;
  last_phase_ = "rendezvous";
  events_.phase(last_phase_);
  v1::RunnerCommand command;
  command.mutable_rendezvous()->set_token(token);
  for (RankState& state : ranks_) state.process.Send(command);
}

void RankGroup::CheckDeadlines() {
  const MonotonicTime now = std::chrono::steady_clock::now();
  if (phase_ == Phase::kStopping) {
    if (killed_ || now < kill_time_) return;
    killed_ = true;
    for (RankState& state : ranks_) state.process.Signal(SIGKILL);
    return;
  }
  if (others_may_end_ && now >= *others_may_end_) return End();
  CheckStalled(now);
  CheckPrepared(now);
  if (now >= deadline_) OnTimeout();
}

MonotonicTime RankGroup::PrepareDeadline() const {
  switch (phase_) {
    case Phase::kStarting:
      return start_ + options_.prepare;
    case Phase::kWaiting:
      return start_ + 2 * options_.prepare;
    default:
      return MonotonicTime::max();
  }
}

void RankGroup::CheckPrepared(MonotonicTime now) {
  if (now < PrepareDeadline()) return;
  if (phase_ == Phase::kWaiting) {
    return Fail(
        MakeFailure(v1::REASON_GANG_NOT_STARTED, "the coordinator did not start the gang within " +
                                                     FormatDuration(2 * options_.prepare) +
                                                     ", while the ranks of this node were ready"));
  }
  for (const RankState& state : ranks_) {
    if (state.ready) continue;
    return Fail(MakeFailure(v1::REASON_RUNNER_NOT_READY,
                            WhoOf([](const RankState& one) { return !one.ready; }) +
                                ": not ready within " + FormatDuration(options_.prepare),
                            state.process.OutputTail()));
  }
}

void RankGroup::CheckStalled(MonotonicTime now) {
  for (const RankState& state : ranks_) {
    if (!state.partial_since || now < *state.partial_since + options_.event_patience) continue;
    FailRank(state, v1::REASON_RUNNER_PROTOCOL,
             "the runner began an event and did not end it within " +
                 FormatDuration(options_.event_patience));
  }
}

void RankGroup::OnTimeout() {
  const bool all_finished =
      std::all_of(ranks_.begin(), ranks_.end(), [](const auto& one) { return one.finished; });
  if (all_finished) {
    Log().warn("job {}: its runners finished, but had to be killed", options_.spec.job_id());
    for (RankState& state : ranks_) state.process.Signal(SIGKILL);
    deadline_ = MonotonicTime::max();
    return;
  }
  std::string message =
      "the job did not end within " + FormatDuration(options_.timeout) + LastSeen();
  bool (*late)(const RankState&) = [](const RankState& one) { return !one.finished; };
  if (phase_ == Phase::kStarting) {
    late = [](const RankState& one) { return !one.ready; };
    message += "; not ready: " + WhoOf(late);
  } else if (phase_ == Phase::kWaiting) {
    message += "; " + WhoOf(late) + " waited for other nodes";
  } else if (options_.spec.world_size() > 1) {
    message += "; not finished: " + WhoOf(late);
  }
  const auto first = std::find_if(ranks_.begin(), ranks_.end(), late);
  Fail(MakeFailure(v1::REASON_TIMEOUT, message,
                   first == ranks_.end() ? "" : first->process.OutputTail()));
}

void RankGroup::Keep(v1::Failure failure, Detail detail) {
  if (failure_ && detail <= detail_) return;
  failure.set_last_phase(LastPhase());
  failure_ = std::move(failure);
  detail_ = detail;
}

void RankGroup::KeepOfEndedRank(v1::Failure failure, Detail detail) {
  // Ranks that were told to stop end without a failure of their own.
  if (phase_ == Phase::kStopping) return;
  Keep(std::move(failure), detail);
  if (!others_may_end_) others_may_end_ = std::chrono::steady_clock::now() + kOthersMayEnd;
}

void RankGroup::Fail(v1::Failure failure) {
  if (phase_ == Phase::kStopping) return;
  Keep(std::move(failure), Detail::kCause);
  End();
}

void RankGroup::End() {
  phase_ = Phase::kStopping;
  kill_time_ = std::chrono::steady_clock::now() + kStopGrace;
  for (RankState& state : ranks_) {
    state.process.CloseInput();
    state.process.Signal(SIGTERM);
    state.process.Signal(SIGCONT);  // A suspended process receives no signal except SIGKILL.
  }
}

v1::Failure RankGroup::FailureOf(const RankState& state, v1::Reason reason,
                                 const std::string& message) const {
  v1::Failure failure =
      MakeFailure(reason, Who(state) + ": " + message, state.process.OutputTail());
  if (options_.spec.world_size() > 1) failure.set_rank(state.rank);
  return failure;
}

bool RankGroup::AllGone() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& one) { return one.gone; });
}

}  // namespace assay::agent
