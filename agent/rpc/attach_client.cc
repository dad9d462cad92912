#include "agent/rpc/attach_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <utility>

#include "agent/rpc/session_stream.h"
#include "common/text.h"
#include "common/units.h"
#include "wire/access.h"

namespace assay::agent {
namespace {

// How long the coordinator may take to end a call that this side has closed.
constexpr Duration kCloseGrace = std::chrono::seconds(1);

}  // namespace

class AttachClient::Stream
    : public SessionStream<grpc::ClientBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>,
                           /*kReadsToTheEnd=*/true> {
 public:
  explicit Stream(AttachClient* client)
      : SessionStream(client->session_, client->executor_),
        client_(client),
        fleet_(client->fleet_),
        alive_(client->alive_),
        activity_(client->activity_) {}

  void Start(v1::FleetService::Stub* stub) {
    stub->async()->Attach(&context_, this);
    // Messages are sent from our own threads; the hold is removed once reading has ended.
    AddHold();
    Begin();
    StartCall();
  }

  void OnDone(const grpc::Status& status) override {
    React("ending a session", [&] {
      executor()->Post([client = client_, alive = alive_, status, after = reconnect_after()] {
        if (!alive.expired()) client->OnCallEnded(status, after);
      });
    });
    // The executor may end once no call is left, so nothing below uses it.
    const std::shared_ptr<Activity> activity = activity_;
    Release();
    MutexLock lock(activity->mutex);
    activity->calling = false;
    activity->changed.NotifyAll();
  }

 protected:
  void End() override {
    StartWritesDone();
    executor()->PostAfter(kCloseGrace, [self = shared_from_this(), this] { context_.TryCancel(); });
  }

  void OnNoMoreReading() override { RemoveHold(); }

  // Only a coordinator's acknowledgement may delete a result. A proxy forwards those of one.
  bool IsTrusted() const override {
    if (fleet_.empty()) return true;
    const Identity server = rpc::ServerOf(context_);
    const bool trusted = server.fleet == fleet_ &&
                         (server.role == Role::kCoordinator || server.role == Role::kProxy);
    if (!trusted) {
      Log().error("the server has no coordinator's certificate of fleet {}: role {}, fleet {}",
                  fleet_, RoleName(server.role), Quote(server.fleet));
    }
    return trusted;
  }

 private:
  grpc::ClientContext context_;
  AttachClient* const client_;
  const std::string fleet_;
  const std::weak_ptr<bool> alive_;
  const std::shared_ptr<Activity> activity_;
};

AttachClient::AttachClient(std::shared_ptr<grpc::Channel> channel, std::string coordinator,
                           std::string fleet, std::weak_ptr<Session> session, Executor* executor,
                           uint64_t seed)
    : channel_(std::move(channel)),
      stub_(v1::FleetService::NewStub(channel_)),
      coordinator_(std::move(coordinator)),
      fleet_(std::move(fleet)),
      session_(std::move(session)),
      executor_(executor),
      backoff_(seed) {}

AttachClient::~AttachClient() = default;

void AttachClient::Stop() { stopped_ = true; }

void AttachClient::AwaitEnd() {
  MutexLock lock(activity_->mutex);
  while (activity_->calling) activity_->changed.Wait(activity_->mutex);
}

void AttachClient::Dial() {
  if (stopped_) return;
  dial_time_ = Clock::Real().Now();
  {
    MutexLock lock(activity_->mutex);
    activity_->calling = true;
  }
  std::make_shared<Stream>(this)->Start(stub_.get());
}

void AttachClient::OnCallEnded(const grpc::Status& status,
                               std::optional<Duration> reconnect_after) {
  if (stopped_) return;
  backoff_.SessionEnded(Clock::Real().Now() - dial_time_);
  const Duration wait = std::max(backoff_.Next(), reconnect_after.value_or(Duration::zero()));
  Log().warn("no session with the coordinator at {} ({}); next try in {}", coordinator_,
             status.ok() ? "it ended the call" : status.error_message(), FormatDuration(wait));
  executor_->PostAfter(wait, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) Dial();
  });
}

}  // namespace assay::agent
