#include "agent/rpc/attach_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <algorithm>
#include <utility>

#include "agent/rpc/session_stream.h"
#include "common/text.h"
#include "common/units.h"
#include "wire/access.h"
#include "wire/status_conversion.h"

namespace assay::agent {
namespace {

// The time that the coordinator may take to end a call after this side has closed it.
constexpr Duration kCloseGrace = std::chrono::seconds(1);

// Returns true if the coordinator has replaced this session with another one, from either the same
// agent or a different agent with the same node id.
bool WasReplaced(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::ABORTED ||
         status.error_code() == grpc::StatusCode::ALREADY_EXISTS;
}

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

  void Break() { context_.TryCancel(); }

  void OnDone(const grpc::Status& status) override {
    React("ending a session", [&] {
      executor()->Post(
          [client = client_, alive = alive_, end = CallEnd{status, welcomed(), reconnect()}] {
            if (!alive.expired()) client->OnCallEnded(end);
          });
    });
    // The executor may end once no call is left, so nothing below uses it.
    const std::shared_ptr<Activity> activity = activity_;
    Release();
    MutexLock lock(activity->mutex);
    --activity->calls;
    activity->changed.NotifyAll();
  }

 protected:
  void End() override {
    StartWritesDone();
    executor()->PostAfter(kCloseGrace, [self = shared_from_this(), this] { context_.TryCancel(); });
  }

  void OnNoMoreReading() override { RemoveHold(); }

  // Returns true if the server's certificate identifies it as a coordinator of this fleet, or as a
  // proxy that forwards a coordinator's messages. No other server can be trusted, because the agent
  // deletes results once the server has acknowledged them. Without a fleet, and therefore without a
  // certificate, trusts every server.
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

AttachClient::AttachClient(std::vector<std::string> coordinators, ChannelFactory make_channel,
                           std::string fleet, std::weak_ptr<Session> session, Executor* executor,
                           uint64_t seed)
    : coordinators_(std::move(coordinators)),
      make_channel_(std::move(make_channel)),
      fleet_(std::move(fleet)),
      session_(std::move(session)),
      executor_(executor),
      backoff_(seed) {}

AttachClient::~AttachClient() = default;

void AttachClient::Stop() { stopped_ = true; }

void AttachClient::Abort() {
  Stop();
  if (const auto stream = stream_.lock()) stream->Break();
}

void AttachClient::AwaitEnd() {
  MutexLock lock(activity_->mutex);
  while (activity_->calls > 0) activity_->changed.Wait(activity_->mutex);
}

void AttachClient::BeginRound() {
  std::vector<std::string> wanted = {std::exchange(named_, ""), last_welcome_};
  wanted.insert(wanted.end(), coordinators_.begin(), coordinators_.end());
  tried_.clear();
  for (std::string& address : wanted) {
    const bool again = std::find(round_.begin(), round_.end(), address) != round_.end();
    if (!address.empty() && !again) round_.push_back(std::move(address));
  }
}

Result<v1::FleetService::Stub*> AttachClient::StubOf(const std::string& address) {
  const auto known = targets_.find(address);
  if (known != targets_.end()) {
    // Skip gRPC's own reconnection delay, which may be so long that this agent loses its jobs. The
    // class Backoff already limits how often the agent reconnects.
    grpc::experimental::ChannelResetConnectionBackoff(known->second.channel.get());
    return known->second.stub.get();
  }
  ASSAY_ASSIGN_OR_RETURN(auto channel, make_channel_(address));
  auto stub = v1::FleetService::NewStub(channel);
  Target& target = targets_[address];
  target = {std::move(channel), std::move(stub)};
  return target.stub.get();
}

void AttachClient::Dial() {
  if (stopped_) return;
  if (round_.empty()) BeginRound();
  dialled_ = std::move(round_.front());
  round_.pop_front();
  tried_.insert(dialled_);
  dial_time_ = Clock::Real().Now();
  const auto stub = StubOf(dialled_);
  if (!stub.ok()) {
    CallEnd end;
    end.status = grpc::Status(grpc::StatusCode::UNAVAILABLE, stub.status().message());
    return OnCallEnded(end);
  }
  {
    MutexLock lock(activity_->mutex);
    ++activity_->calls;
  }
  const auto stream = std::make_shared<Stream>(this);
  stream_ = stream;
  stream->Start(*stub);
}

void AttachClient::OnCallEnded(const CallEnd& end) {
  if (stopped_) return;
  const std::string ended = dialled_;
  const bool replaced = WasReplaced(end.status);
  if (end.welcomed) {
    last_welcome_ = ended;
    // Reset the delays if the coordinator asked to reconnect, because its message contains a delay.
    backoff_.SessionEnded(end.reconnect ? Duration::max() : Clock::Real().Now() - dial_time_);
  }
  if (end.welcomed || replaced) round_.clear();
  if (end.reconnect) PreferNamed(end.reconnect->address, /*next_round=*/end.welcomed || replaced);
  ForgetUnlisted();

  const auto session = session_.lock();
  std::optional<Duration> within;
  // Reconnect soon enough to keep the session's jobs. But if another agent with the same node id
  // may have replaced this session, accept any delay. Otherwise, the two agents would keep
  // replacing each other.
  if (session != nullptr && !replaced) within = session->ReconnectWithin();
  Duration delay = end.reconnect ? end.reconnect->after : Duration::zero();
  if (round_.empty()) delay = std::max(delay, backoff_.Next(within));
  if (within) delay = std::min(delay, *within);
  Log().log(replaced ? spdlog::level::err : spdlog::level::warn,
            "no session with the coordinator at {} ({}); next try in {}", ended,
            end.status.ok() ? "it ended the call" : end.status.error_message(),
            FormatDuration(delay));
  if (call_ended_) call_ended_(ended, rpc::FromGrpc(end.status), !last_welcome_.empty());
  executor_->PostAfter(delay, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) Dial();
  });
}

void AttachClient::PreferNamed(const std::string& address, bool next_round) {
  if (address.empty()) return;
  // Do not try an address twice in one round. Otherwise, two coordinators that refer the agent to
  // each other would make it reconnect in a tight loop.
  if (next_round || tried_.contains(address)) {
    named_ = address;
    return;
  }
  std::erase(round_, address);
  round_.push_front(address);
}

void AttachClient::ForgetUnlisted() {
  std::erase_if(targets_, [this](const auto& target) {
    const std::string& address = target.first;
    return address != last_welcome_ &&
           std::find(coordinators_.begin(), coordinators_.end(), address) == coordinators_.end();
  });
}

}  // namespace assay::agent
