#include "agent/core/session.h"

#include <algorithm>

#include "common/log.h"
#include "common/text.h"
#include "common/units.h"
#include "wire/durations.h"

namespace assay::agent {
namespace {

constexpr int kProtocolRevision = 1;
constexpr Duration kHelloTimeout = std::chrono::seconds(30);
constexpr Duration kDefaultHeartbeat = std::chrono::seconds(5);
constexpr Duration kLeastHeartbeat = std::chrono::milliseconds(100);
constexpr Duration kMostHeartbeat = std::chrono::minutes(5);
constexpr Duration kMostReconnectDelay = std::chrono::minutes(5);
constexpr size_t kRememberedStates = 64;

}  // namespace

Session::Session(Options options)
    : options_(std::move(options)), heartbeat_period_(kDefaultHeartbeat) {
  Executor* executor = options_.executor;
  options_.occupancy->OnDirectLeft([this, executor, alive = std::weak_ptr<bool>(alive_)] {
    executor->Post([this, alive] {
      if (!alive.expired()) StartWaitingJobs();
    });
  });
}

Session::~Session() { jobs_.clear(); }

void Session::Post(std::function<void()> task) {
  options_.executor->Post([alive = std::weak_ptr<bool>(alive_), task = std::move(task)] {
    if (!alive.expired()) task();
  });
}

SessionStats Session::stats() const {
  MutexLock lock(stats_mutex_);
  return stats_;
}

void Session::Connected(std::shared_ptr<Link> link) {
  CloseLink("replaced by a newer session", std::nullopt);
  link_ = std::move(link);
  phase_ = Phase::kGreeting;
  hello_deadline_ = options_.clock->Now() + kHelloTimeout;
  v1::AgentMessage message;
  *message.mutable_hello()->mutable_node() = options_.node->Describe();
  message.mutable_hello()->set_protocol_revision(kProtocolRevision);
  link_->Send(std::move(message));
  Arm();
}

void Session::Disconnected(const std::shared_ptr<Link>& link) {
  if (link != link_ || link_ == nullptr) return;
  if (phase_ == Phase::kLive) Log().info("session with the coordinator ended");
  GoOffline();
}

void Session::GoOffline() {
  link_ = nullptr;
  phase_ = Phase::kDisconnected;
  hello_deadline_ = MonotonicTime::max();
  next_heartbeat_ = MonotonicTime::max();
  in_flight_.clear();
  unsent_.clear();
  MutexLock lock(stats_mutex_);
  stats_.connected = false;
}

void Session::CloseLink(const std::string& reason, std::optional<Duration> reconnect_after) {
  if (link_ == nullptr) return;
  link_->Close(reason, reconnect_after);
  GoOffline();
}

void Session::Leave(const std::string& reason) {
  if (link_ == nullptr) return;
  v1::AgentMessage message;
  message.mutable_going_away()->set_reason(reason);
  link_->Send(std::move(message));
  CloseLink(reason, std::nullopt);
}

void Session::Received(const std::shared_ptr<Link>& link, const v1::CoordinatorMessage& message) {
  if (link != link_ || link_ == nullptr) return;
  if (message.has_hello_ack()) {
    OnHelloAck(message.hello_ack());
  } else if (message.has_reconnect()) {
    const Duration after = std::min(FromProto(message.reconnect().after()), kMostReconnectDelay);
    Log().info("the coordinator asks to reconnect after {}", FormatDuration(after));
    CloseLink("asked to reconnect", after);
  } else if (phase_ != Phase::kLive) {
    Log().warn("the coordinator sent message {} before HelloAck; ignored",
               static_cast<int>(message.kind_case()));
  } else if (message.has_assign()) {
    OnAssign(message.assign());
  } else if (message.has_gang_go()) {
    OnGangGo(message.gang_go());
  } else if (message.has_cancel()) {
    OnCancel(message.cancel());
  } else if (message.has_result_ack()) {
    OnResultAck(message.result_ack());
  } else if (message.has_job_finished_ack()) {
    OnJobFinishedAck(message.job_finished_ack());
  } else if (message.has_lease_renewal()) {
    OnLeaseRenewal(message.lease_renewal());
  }
  Arm();
}

void Session::OnHelloAck(const v1::HelloAck& ack) {
  if (phase_ != Phase::kGreeting) return;
  if (ack.protocol_revision() != kProtocolRevision) {
    Log().error("the coordinator speaks protocol revision {}, this agent {}",
                ack.protocol_revision(), kProtocolRevision);
    return CloseLink("no common protocol revision", std::nullopt);
  }
  phase_ = Phase::kLive;
  hello_deadline_ = MonotonicTime::max();
  heartbeat_period_ = ack.has_heartbeat_period() ? std::clamp(FromProto(ack.heartbeat_period()),
                                                              kLeastHeartbeat, kMostHeartbeat)
                                                 : kDefaultHeartbeat;
  Log().info("in session with coordinator {} ({}), heartbeat every {}", Cut(ack.coordinator_id()),
             Cut(ack.coordinator_version()), FormatDuration(heartbeat_period_));
  SendState();
  const std::vector<ResultKey> keys = options_.spool->Keys();
  unsent_.assign(keys.begin(), keys.end());
  SendResults();
  for (auto& [id, job] : jobs_) {
    job.finished_sent.reset();
    if (job.gang_token) SendGangReady(job);
    SendFinishedIfReported(&job);
  }
}

void Session::SendState() {
  const MonotonicTime now = options_.clock->Now();
  next_heartbeat_ = now + heartbeat_period_;
  int running = 0;
  v1::AgentMessage message;
  for (const auto& [id, job] : jobs_) {
    if (job.replaced) continue;
    *message.mutable_state()->add_running_jobs() = job.Progress();
    running += job.state == AssignedJob::State::kRunning ? 1 : 0;
  }
  {
    MutexLock lock(stats_mutex_);
    stats_.running_jobs = running;
    stats_.connected = phase_ == Phase::kLive;
    if (phase_ == Phase::kLive) stats_.last_heartbeat = options_.clock->WallNow();
  }
  if (phase_ != Phase::kLive) return;
  sent_states_[++sequence_] = now;
  if (sent_states_.size() > kRememberedStates) sent_states_.erase(sent_states_.begin());
  message.mutable_state()->set_spool_depth(static_cast<int64_t>(options_.spool->depth()));
  message.mutable_state()->set_sequence(sequence_);
  link_->Send(std::move(message));
}

void Session::Tick() {
  const MonotonicTime now = options_.clock->Now();
  if (now >= hello_deadline_) {
    Log().warn("the coordinator did not answer Hello within {}", FormatDuration(kHelloTimeout));
    CloseLink("no HelloAck", std::nullopt);
  }
  CheckLeases(now);
  if (phase_ == Phase::kLive) {
    Resend(now);
    if (now >= next_heartbeat_) SendState();
  }
  Arm();
}

void Session::Arm() {
  const MonotonicTime next = NextDeadline();
  if (next >= armed_for_) return;
  armed_for_ = next;
  options_.executor->PostAfter(std::max(Duration::zero(), next - options_.clock->Now()),
                               [this, next, alive = std::weak_ptr<bool>(alive_)] {
                                 if (alive.expired()) return;
                                 if (armed_for_ == next) armed_for_ = MonotonicTime::max();
                                 Tick();
                               });
}

AssignedJob* Session::Find(const std::string& job_id, int64_t epoch) {
  const auto found = jobs_.find({job_id, epoch});
  return found == jobs_.end() ? nullptr : &found->second;
}

}  // namespace assay::agent
