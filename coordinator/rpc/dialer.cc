#include "coordinator/rpc/dialer.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <optional>
#include <random>
#include <utility>

#include "assay/v1/agent_service.grpc.pb.h"
#include "common/host_port.h"
#include "common/log.h"
#include "common/units.h"
#include "coordinator/rpc/stream_link.h"
#include "wire/access.h"

namespace assay::coordinator::rpc {

// Maintains a session with the agent at one address, reconnecting whenever the session ends. See
// dialer.h for the states. Thread-safe. Must be created with std::make_shared. The coordinator must
// outlive it.
class DialTarget : public std::enable_shared_from_this<DialTarget> {
 public:
  DialTarget(Coordinator& coordinator, std::string address,
             const std::shared_ptr<grpc::Channel>& channel)
      : coordinator_(coordinator),
        address_(std::move(address)),
        stub_(v1::AgentService::NewStub(channel)) {}

  // Opens a session, and a new session whenever the last one has ended. Call this once.
  void Open();
  // Ends the session with `status` and opens no more.
  void Forget(const Status& status);

  // Blocks until the stream has ended. Returns false if it has not at `deadline`.
  bool AwaitEnd(std::chrono::steady_clock::time_point deadline) {
    MutexLock lock(mutex_);
    while (open_) {
      if (!ended_.WaitUntil(mutex_, deadline)) return !open_;
    }
    return true;
  }

  // Records that the agent has a session through this address.
  void NoteAgent(const Agent& agent) {
    MutexLock lock(mutex_);
    agent_ = agent;
  }
  // Returns the agent that has a session now, if any.
  std::optional<Agent> agent() const {
    MutexLock lock(mutex_);
    return agent_;
  }
  // Returns the reason why the last session ended; OK if none has ended.
  Status last_error() const {
    MutexLock lock(mutex_);
    return last_error_;
  }

  // Handles the end of the stream, with its status.
  void OnStreamEnded(const Status& status);
  v1::AgentService::Stub& stub() { return *stub_; }

 private:
  Duration NextDelay() ASSAY_REQUIRES(mutex_);

  Coordinator& coordinator_;
  const std::string address_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;

  mutable Mutex mutex_;
  CondVar ended_;
  bool open_ ASSAY_GUARDED_BY(mutex_) = false;  // A stream exists and has not ended.
  std::shared_ptr<StreamLink> link_ ASSAY_GUARDED_BY(mutex_);
  std::optional<Agent> agent_ ASSAY_GUARDED_BY(mutex_);
  Status last_error_ ASSAY_GUARDED_BY(mutex_);
  MonotonicTime opened_ ASSAY_GUARDED_BY(mutex_);
  int failures_ ASSAY_GUARDED_BY(mutex_) = 0;
  bool forgotten_ ASSAY_GUARDED_BY(mutex_) = false;
};

namespace {

constexpr Duration kFirstDelay = std::chrono::milliseconds(500);
constexpr Duration kMaxDelay = std::chrono::seconds(60);
constexpr Duration kStable = std::chrono::minutes(2);

// The client side of one AgentService.Session. Deletes itself when gRPC has finished with it.
class DialReactor : public grpc::ClientBidiReactor<v1::CoordinatorMessage, v1::AgentMessage>,
                    public StreamOperations {
 public:
  explicit DialReactor(std::shared_ptr<DialTarget> target)
      : target_(std::move(target)), link_(std::make_shared<StreamLink>(this)) {}

  const std::shared_ptr<StreamLink>& link() const { return link_; }

  void Begin(std::shared_ptr<Session> session) {
    target_->stub().async()->Session(&context_, this);
    // Add a hold, which allows reads and writes to be started outside of gRPC's callbacks. It is
    // released by Finish.
    AddHold();
    link_->Start(std::move(session));
    StartCall();
  }

  void Read() override { StartRead(&inbound_); }
  void Write(const v1::CoordinatorMessage* message) override { StartWrite(message); }
  Identity Peer() const override { return assay::rpc::ServerOf(context_); }
  std::string PeerUri() const override { return context_.peer(); }
  void Finish(const Status&) override {
    StartWritesDone();
    RemoveHold();
  }

  void OnReadDone(bool ok) override {
    Reaction("Session.OnReadDone", [&] { link_->OnReadDone(ok, std::exchange(inbound_, {})); });
  }
  void OnWriteDone(bool ok) override {
    Reaction("Session.OnWriteDone", [&] { link_->OnWriteDone(ok); });
  }
  void Cancel() override { context_.TryCancel(); }
  // All queued messages have been sent. If the agent does not end the stream, it is cancelled.
  void OnWritesDoneDone(bool) override { context_.TryCancel(); }
  void OnDone(const grpc::Status& status) override {
    Reaction("Session.OnDone", [&] {
      link_->OnDone();
      target_->OnStreamEnded(assay::rpc::FromGrpc(status));
    });
    delete this;
  }

 private:
  const std::shared_ptr<DialTarget> target_;
  grpc::ClientContext context_;
  v1::AgentMessage inbound_;
  const std::shared_ptr<StreamLink> link_;
};

// Describes the last attempt to reach an agent; empty if nothing is known.
std::string Cause(const Status& why) {
  if (why.ok()) return "";
  if (why.code() == Code::kUnimplemented) return ": what listens there is not an agent";
  return ": " + (why.message().empty() ? std::string(CodeName(why.code())) : why.message());
}

Status Forgotten() { return FailedPrecondition("the node was removed", Reason::kNodeRemoved); }

}  // namespace

void DialTarget::Open() {
  auto* reactor = new DialReactor(shared_from_this());
  const std::shared_ptr<StreamLink> link = reactor->link();
  {
    MutexLock lock(mutex_);
    if (forgotten_) {
      delete reactor;
      return;
    }
    link_ = link;
    open_ = true;
    opened_ = coordinator_.clock().Now();
  }
  reactor->Begin(coordinator_.OpenSession(link, address_));
}

void DialTarget::Forget(const Status& status) {
  std::shared_ptr<StreamLink> link;
  {
    MutexLock lock(mutex_);
    forgotten_ = true;
    link = std::exchange(link_, nullptr);
  }
  if (link) link->Close(status);
}

void DialTarget::OnStreamEnded(const Status& status) {
  Duration delay{0};
  {
    MutexLock lock(mutex_);
    if (!forgotten_ && (agent_ || failures_ == 0)) {
      Log().info("the session with {} ended{}{}; it is dialled again", address_,
                 status.ok() ? "" : ": ", status.message());
    }
    link_ = nullptr;
    agent_ = std::nullopt;
    last_error_ = status;
    open_ = false;
    ended_.NotifyAll();
    if (forgotten_) return;
    delay = NextDelay();
  }
  coordinator_.executor().PostAfter(delay, [self = shared_from_this()] { self->Open(); });
}

Duration DialTarget::NextDelay() {
  if (coordinator_.clock().Now() - opened_ >= kStable) failures_ = 0;
  const Duration most = std::min(kMaxDelay, kFirstDelay * (1 << std::min(failures_, 10)));
  ++failures_;
  // Choose a random delay, so that the retries to many agents are spread out. The delay is at least
  // half of the first delay, so that a retry never follows immediately.
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_int_distribution<int64_t>(kFirstDelay.count() / 2, most.count())(random) *
         std::chrono::nanoseconds(1);
}

Dialer::Dialer(Coordinator& coordinator, const Calls& calls, assay::rpc::TlsFiles tls,
               bool insecure)
    : coordinator_(coordinator), calls_(calls), tls_(std::move(tls)), insecure_(insecure) {}

Dialer::~Dialer() = default;

Status Dialer::Dial(const std::string& address) {
  const Result<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return parsed.status();
  if (parsed->port == 0)
    return InvalidArgument(address +
                           " has port 0; an address to dial needs a port from 1 to 65535");
  ASSAY_ASSIGN_OR_RETURN(const auto credentials,
                         assay::rpc::ClientCredentials(*parsed, tls_, insecure_));
  std::shared_ptr<DialTarget> target;
  {
    MutexLock lock(mutex_);
    if (targets_.count(address) > 0) return Status::Ok();
    target = std::make_shared<DialTarget>(
        coordinator_, address,
        grpc::CreateCustomChannel(parsed->ToString(), credentials, assay::rpc::ClientArguments()));
    targets_[address] = target;
  }
  target->Open();
  return Status::Ok();
}

void Dialer::AwaitHello(const std::string& address, Duration patience, Answered answered) {
  std::optional<Agent> present;
  int64_t id = 0;
  {
    MutexLock lock(mutex_);
    const auto target = targets_.find(address);
    if (target != targets_.end()) present = target->second->agent();
    if (!present) {
      id = ++last_waiter_;
      waiters_[id] = {address, std::move(answered)};
    }
  }
  if (present) return answered(*present);
  calls_.executor().PostAfter(patience, [this, id, address, patience] {
    Answered late;
    Status why;
    {
      MutexLock lock(mutex_);
      const auto waiter = waiters_.find(id);
      if (waiter == waiters_.end()) return;
      late = std::move(waiter->second.answered);
      waiters_.erase(waiter);
      if (const auto target = targets_.find(address); target != targets_.end()) {
        why = target->second->last_error();
      }
    }
    late(Unavailable(
             "no agent answered at " + address + " within " + FormatDuration(patience) + Cause(why),
             Reason::kAgentUnreachable)
             .WithHint("is assay-agent running there, and may this coordinator reach the port?"));
  });
}

void Dialer::Follow(const std::vector<std::string>& stored) {
  std::set<std::string> gone;
  {
    MutexLock lock(mutex_);
    gone = std::exchange(followed_, {stored.begin(), stored.end()});
    for (const std::string& address : stored) gone.erase(address);
  }
  for (const std::string& address : gone) Forget(address);
  for (const std::string& address : stored) {
    if (Dials(address)) continue;
    const Status dialled = Dial(address);
    if (!dialled.ok()) Log().error("cannot dial {}: {}", address, dialled.ToString());
  }
}

void Dialer::Forget(const std::string& address) {
  std::shared_ptr<DialTarget> target;
  {
    MutexLock lock(mutex_);
    const auto found = targets_.find(address);
    if (found == targets_.end()) return;
    target = std::move(found->second);
    targets_.erase(found);
  }
  target->Forget(Forgotten());
}

bool Dialer::Dials(const std::string& address) const {
  MutexLock lock(mutex_);
  return targets_.count(address) > 0;
}

void Dialer::OnAttached(const Agent& agent) {
  if (agent.dial_address.empty()) return;
  std::vector<Answered> answered;
  {
    MutexLock lock(mutex_);
    const auto target = targets_.find(agent.dial_address);
    if (target == targets_.end()) return;
    target->second->NoteAgent(agent);
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
      if (waiter->second.address == agent.dial_address) {
        answered.push_back(std::move(waiter->second.answered));
        waiter = waiters_.erase(waiter);
      } else {
        ++waiter;
      }
    }
  }
  for (const Answered& callback : answered) callback(agent);
}

void Dialer::Stop(Duration patience) {
  std::map<std::string, std::shared_ptr<DialTarget>> targets;
  std::map<int64_t, Waiter> waiters;
  {
    MutexLock lock(mutex_);
    targets.swap(targets_);
    waiters.swap(waiters_);
  }
  const Status status = Unavailable("the coordinator is shutting down", Reason::kShuttingDown);
  for (const auto& [address, target] : targets) target->Forget(status);
  for (const auto& [id, waiter] : waiters) waiter.answered(status);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (const auto& [address, target] : targets) {
    if (!target->AwaitEnd(deadline)) Log().warn("the session with {} has not ended", address);
  }
}

}  // namespace assay::coordinator::rpc
