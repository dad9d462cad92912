#include "coordinator/rpc/dial_target.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <random>
#include <utility>

#include "common/log.h"
#include "coordinator/rpc/guard.h"
#include "wire/status_conversion.h"

namespace assay::coordinator::rpc {
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
    // The hold, released by Finish, allows reads and writes to start outside of reactions.
    AddHold();
    link_->Start(std::move(session));
    StartCall();
  }

  void Read() override { StartRead(&inbound_); }
  void Write(const v1::CoordinatorMessage* message) override { StartWrite(message); }
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

bool DialTarget::AwaitEnd(std::chrono::steady_clock::time_point deadline) {
  MutexLock lock(mutex_);
  while (open_) {
    if (!ended_.WaitUntil(mutex_, deadline)) return !open_;
  }
  return true;
}

void DialTarget::NoteAgent(const Agent& agent) {
  MutexLock lock(mutex_);
  agent_ = agent;
}

std::optional<Agent> DialTarget::agent() const {
  MutexLock lock(mutex_);
  return agent_;
}

Status DialTarget::last_error() const {
  MutexLock lock(mutex_);
  return last_error_;
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
  // Full jitter with a minimum of half the first delay, so that a retry never follows at once.
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_int_distribution<int64_t>(kFirstDelay.count() / 2, most.count())(random) *
         std::chrono::nanoseconds(1);
}

}  // namespace assay::coordinator::rpc
