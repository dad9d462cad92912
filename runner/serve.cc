#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "gang/contacts.h"
#include "gang/peer_watch.h"
#include "gang/peers.h"
#include "gang/socket.h"
#include "host/gpu_platform.h"
#include "runner/case_result.h"
#include "runner/commands.h"
#include "runner/execute.h"
#include "runner/exit_codes.h"
#include "runner/frame_io.h"
#include "runner/gang.h"
#include "runner/node_fault.h"
#include "runner/version_check.h"
#include "wire/durations.h"
#include "wire/reasons.h"

namespace assay {
namespace {

// Time limit for the ranks to connect to each other. It can be short, because the ranks are told to
// connect only once all of them are ready.
constexpr Duration kMeetingTimeout = std::chrono::seconds(30);

void LogError(const Status& status) {
  std::fprintf(stderr, "assay-runner: %s\n", status.ToString().c_str());
}

// Logs the error and NCCL's output, because the agent keeps this process's stderr as evidence.
void LogGangError(const Status& status) {
  LogError(status);
  const std::string log = LibraryLog();
  if (!log.empty()) std::fprintf(stderr, "NCCL's log:\n%s", log.c_str());
}

// The stream of commands from the agent. A separate thread reads it, so that this process notices
// at once if the agent closes the stream, even while a benchmark runs. The thread runs until the
// process exits, so this object must never be destroyed.
class CommandStream {
 public:
  explicit CommandStream(int fd) : reader_(fd) {
    std::thread([this] { ReadAll(); }).detach();
  }

  // Waits for the next command.
  v1::RunnerCommand Next() {
    MutexLock lock(mutex_);
    while (commands_.empty()) arrived_.Wait(mutex_);
    v1::RunnerCommand command = std::move(commands_.front());
    commands_.pop_front();
    return command;
  }

  // Declares that no more commands are needed, so that the agent may close the command stream.
  // Before this call, the process exits as soon as the stream ends. Afterwards, it continues and
  // exits normally.
  void NoMoreNeeded() {
    MutexLock lock(mutex_);
    needed_ = false;
  }

 private:
  void ReadAll() {
    for (;;) {
      const auto frame = reader_.Read();
      v1::RunnerCommand command;
      if (!frame.ok() || (frame->has_value() && !command.ParseFromString(**frame))) {
        LogError(frame.ok() ? InvalidArgument("stdin: not a RunnerCommand")
                            : frame.status().WithContext("stdin"));
        _exit(kExitUsage);
      }
      MutexLock lock(mutex_);
      if (!frame->has_value()) {
        if (needed_) _exit(kExitStopped);
        return;
      }
      commands_.push_back(std::move(command));
      arrived_.NotifyOne();
    }
  }

  FrameReader reader_;
  Mutex mutex_;
  CondVar arrived_;
  std::deque<v1::RunnerCommand> commands_ ASSAY_GUARDED_BY(mutex_);
  bool needed_ ASSAY_GUARDED_BY(mutex_) = true;
};

class RankSession {
 public:
  RankSession(const Registry& registry, CommandStream& commands, int events_fd)
      : registry_(registry), commands_(commands), events_fd_(events_fd) {}

  int Run() {
    if (const Status begun = Begin(); !begun.ok()) {
      LogError(begun);
      return kExitUsage;
    }
    // Checked before the ranks compare versions, because an unusable GPU has no driver version.
    if (const Status usable = CheckGpus(); !usable.ok()) return GiveUp(usable);
    if (const Status met = Meet(); !met.ok()) {
      return GiveUp(met.WithContext("meeting the other ranks"));
    }
    for (const v1::BenchmarkCase& one : start_.cases()) {
      if (const Status status = RunCase(one); !status.ok()) {
        return GiveUp(status.WithContext("case " + std::to_string(int64_t{one.case_index()} + 1)));
      }
    }
    if (const Status left = Leave(); !left.ok()) {
      return GiveUp(left.WithContext("leaving the gang"));
    }
    v1::RunnerEvent finished;
    finished.mutable_finished()->set_cases_run(start_.cases_size());
    commands_.NoMoreNeeded();
    Send(finished);
    return kExitDone;
  }

 private:
  void Send(const v1::RunnerEvent& event) {
    MutexLock lock(events_mutex_);
    SendLocked(event);
  }

  void SendLocked(const v1::RunnerEvent& event) ASSAY_REQUIRES(events_mutex_) {
    if (!WriteFrame(events_fd_, event.SerializeAsString()).ok()) _exit(kExitStopped);
  }

  static v1::RunnerEvent Started(int case_index, const std::string& phase) {
    v1::RunnerEvent event;
    event.mutable_case_started()->set_case_index(case_index);
    event.mutable_case_started()->set_phase(phase);
    return event;
  }

  Status Begin() {
    v1::RunnerCommand command = commands_.Next();
    if (!command.has_start()) return InvalidArgument("the first command must be `start`");
    start_.Swap(command.mutable_start());
    constexpr int kMostRanks = 65536;
    if (start_.world_size() < 1 || start_.world_size() > kMostRanks || start_.rank() < 0 ||
        start_.rank() >= start_.world_size()) {
      return InvalidArgument("rank " + std::to_string(start_.rank()) + " of " +
                             std::to_string(start_.world_size()) + " ranks does not exist");
    }
    ASSAY_ASSIGN_OR_RETURN(benchmark_, registry_.Find(start_.benchmark()));
    if (start_.advertise_address().empty()) start_.set_advertise_address("127.0.0.1");
    return Status::Ok();
  }

  Status CheckGpus() const {
    const bool on_gpu = benchmark_->Info().resource == Resource::kGpu;
    return on_gpu ? CheckGpusUsable(Gpu()) : Status::Ok();
  }

  // Tells the agent that this rank is ready and, in a job with several ranks, connects to the
  // others. Rank 0 gives the agent a token, which is forwarded to the other ranks so that they can
  // find rank 0.
  Status Meet() {
    std::unique_ptr<Rendezvous> rendezvous;
    v1::RunnerEvent ready;
    ready.mutable_ready();
    const int world_size = start_.world_size();
    if (world_size > 1) {
      // Check on every rank that it can listen at this address. Only rank 0 needs to listen now,
      // but other ranks may have to do so later, when the ranks exchange data.
      auto listens = ListenForPeers(start_.advertise_address());
      if (!listens.ok()) {
        return Unavailable(listens.status().message() +
                               "; ranks listen on the agent's --advertise-address: is it still an "
                               "address of this node?",
                           Reason::kAddressUnusable);
      }
      if (start_.rank() == 0) rendezvous = *std::move(listens);
    }
    if (rendezvous != nullptr) {
      ready.mutable_ready()->set_rendezvous_token(rendezvous->token());
    }
    Send(ready);
    if (world_size == 1) return Status::Ok();
    const v1::RunnerCommand command = commands_.Next();
    if (!command.has_rendezvous())
      return InvalidArgument("the second command must be `rendezvous`");
    auto met = rendezvous != nullptr ? rendezvous->Accept(world_size, {}, kMeetingTimeout)
                                     : JoinPeers(command.rendezvous().token(), start_.rank(),
                                                 world_size, kMeetingTimeout);
    if (!met.ok()) {
      NoteAbsent(rendezvous.get(), met.status());
      return met.status();
    }
    // Only rank 0 knows when all ranks have met.
    if (rendezvous != nullptr && start_.cases_size() > 0) {
      Send(Started(start_.cases(0).case_index(), "compare"));
    }
    peers_ = std::move(*met);
    HeartbeatRule rule;
    // Wait longer for the first heartbeat, because rank 0 sends heartbeats only after all ranks
    // have connected.
    if (rendezvous == nullptr) rule.first_patience += kMeetingTimeout / rule.interval;
    watch_ = std::make_unique<PeerWatch>(
        peers_->Heartbeats(), [this](const Status& lost) { EndNow(lost); }, rule);
    const Resource resource = benchmark_->Info().resource;
    ASSAY_RETURN_IF_ERROR(CheckVersions(*peers_, OwnVersions(resource)));
    ASSAY_ASSIGN_OR_RETURN(gpus_, GatherGpus(*peers_, OwnGpu(resource)));
    if (!start_.mixed_gpus()) ASSAY_RETURN_IF_ERROR(CheckOneModel(gpus_));
    watch_->ReportEnds(true);
    return Status::Ok();
  }

  // Records which ranks did not connect. On rank 0, these are the ranks whose connections
  // `rendezvous` lacks. On other ranks, `rendezvous` is null, and the absent rank is rank 0.
  void NoteAbsent(const Rendezvous* rendezvous, const Status& why) {
    if (rendezvous == nullptr) {
      // A rank 0 that is frozen is not absent, because its host still answers.
      if (why.reason() != Reason::kPeerFrozen) absent_.absent = {0};
      return;
    }
    const std::vector<PeerConnection> arrived = rendezvous->Arrived();
    absent_ = ContactsOf(arrived);
    for (int rank = 1; rank < start_.world_size(); ++rank) {
      const bool came = std::any_of(arrived.begin(), arrived.end(),
                                    [&](const PeerConnection& one) { return one.rank == rank; });
      if (!came) absent_.absent.push_back(rank);
    }
  }

  // Disconnects from the other ranks once all of them are done. From then on, a closed connection
  // does not mean that a rank was lost.
  Status Leave() {
    if (peers_ == nullptr) return Status::Ok();
    watch_->ReportEnds(false);
    Status left = peers_->Barrier(kPeerTimeout);
    watch_.reset();
    return left;
  }

  // Runs a case. Returns an error if the job cannot continue because another rank was lost or the
  // GPU must not be used again.
  Status RunCase(const v1::BenchmarkCase& one) {
    ASSAY_ASSIGN_OR_RETURN(ExecutedCase executed, Execute(one));
    Status fault = FaultOf(executed);
    if (EndsWithoutResult(fault)) return fault;
    if (start_.rank() == 0) {
      v1::RunnerEvent event;
      event.mutable_case_result()->Swap(&executed.result);
      event.mutable_case_result()->set_case_index(one.case_index());
      AddGpus(gpus_, event.mutable_case_result());
      Send(event);
    }
    const bool last = one.case_index() == start_.cases(start_.cases_size() - 1).case_index();
    return last ? Status::Ok() : fault;
  }

  // Returns the GPU error that affects this case, or OK:
  //   - If profiling broke the CUDA context, returns that error. This happens only in jobs with a
  //     single rank.
  //   - If the case failed, asks all ranks whether their GPUs are to blame. The case must fail on
  //     all ranks or on none, and rank 0 must not send a result that another rank's GPU corrupted.
  Status FaultOf(const ExecutedCase& executed) const {
    if (!executed.context_lost.ok()) return executed.context_lost;
    const bool on_gpu = benchmark_->Info().resource == Resource::kGpu && Gpu() != nullptr;
    if (!on_gpu || executed.result.outcome() != v1::CASE_OUTCOME_FAILED) return Status::Ok();
    const GpuTrouble trouble = Gpu()->TroubleOf(RunContext().gpu);
    return FaultInGang(peers_.get(), NodeFault(executed.error, trouble, start_.rank()));
  }

  // Returns whether the agent accepts `reason` in a message from its runner.
  static bool MayTell(Reason reason) {
    switch (reason) {
      case Reason::kGpuLost:
      case Reason::kGpuBusy:
      case Reason::kGpuUnusable:
      case Reason::kGpuContextLost:
      case Reason::kAddressUnusable:
      case Reason::kVersionMismatch:
      case Reason::kMixedGpus:
        return true;
      default:
        return IsPeerLoss(reason);
    }
  }

  v1::RunnerEvent AbortedBy(const Status& why) const {
    v1::RunnerEvent event;
    v1::Failure& failure = *event.mutable_aborted()->mutable_failure();
    failure = MakeFailure(ToWire(why.reason()), why.Text());
    if (start_.world_size() > 1) failure.set_rank(start_.rank());
    if (IsPeerLoss(why.reason())) *failure.mutable_peer_loss() = PeerLossOf(why);
    return event;
  }

  v1::PeerLoss PeerLossOf(const Status& why) const {
    v1::PeerLoss loss;
    loss.set_rank(why.rank() < 0 ? start_.rank() : why.rank());
    if (why.peer().rank >= 0) loss.set_lost_rank(why.peer().rank);
    *loss.mutable_silence() = ToProto(why.peer().silence);
    const Contacts contacts = peers_ == nullptr ? absent_ : ContactsOf(peers_->Heartbeats());
    for (const int rank : contacts.heard) loss.add_heard_ranks(rank);
    for (const int rank : contacts.silent) loss.add_silent_ranks(rank);
    for (const int rank : contacts.absent) loss.add_absent_ranks(rank);
    return loss;
  }

  // Sends the reason for giving up to the agent, and returns the exit code.
  int GiveUp(const Status& why) {
    watch_.reset();
    LogGangError(why);
    if (!MayTell(why.reason())) return kExitGangLost;
    commands_.NoMoreNeeded();
    Send(AbortedBy(why));
    return IsPeerLoss(why.reason()) ? kExitGangLost : kExitFailed;
  }

  // Reports `lost` to the agent and ends the process. Called on the thread that monitors the other
  // ranks, because all other threads may be blocked waiting for a GPU.
  [[noreturn]] void EndNow(const Status& lost) {
    LogGangError(lost);
    commands_.NoMoreNeeded();
    MutexLock lock(events_mutex_);
    SendLocked(AbortedBy(lost));
    _exit(kExitGangLost);
  }

  Result<ExecutedCase> Execute(const v1::BenchmarkCase& one) {
    const ParameterMap given(one.parameters().begin(), one.parameters().end());
    auto canonical = CheckParameters(*benchmark_, given);
    // All ranks have the same cases, so every rank gets this error.
    if (!canonical.ok()) return CaseNotBegun(benchmark_->Info(), given, canonical.status());
    RunContext context;
    context.parameters = std::move(canonical).value();
    context.seed = start_.seed();
    context.rank = start_.rank();
    context.world_size = start_.world_size();
    context.peers = peers_.get();
    context.advertise_address = start_.advertise_address();
    ExecuteOptions options;
    options.counters = start_.counters();
    options.effort = EffortOf(start_.effort());
    options.on_phase = [&](const std::string& phase) { Send(Started(one.case_index(), phase)); };
    return ExecuteCase(*benchmark_, context, options);
  }

  const Registry& registry_;
  CommandStream& commands_;
  const int events_fd_;
  v1::RunnerStart start_;
  const Benchmark* benchmark_ = nullptr;
  Mutex events_mutex_;  // Guards the frames on `events_fd_`.
  std::unique_ptr<Peers> peers_;
  std::unique_ptr<PeerWatch> watch_;  // Null before the rendezvous.
  Contacts absent_;                   // Set if the rendezvous failed.
  std::vector<RankGpu> gpus_;         // In rank order; empty without a gang.
};

}  // namespace

int ServeCommand(const Registry& registry, int commands_fd, int events_fd) {
  // Never destroyed, because its thread runs until the process ends.
  static CommandStream& commands = *new CommandStream(commands_fd);
  return RankSession(registry, commands, events_fd).Run();
}

}  // namespace assay
