#include "agent/core/session.h"

#include <algorithm>
#include <utility>

#include "common/host_port.h"
#include "common/log.h"
#include "common/text.h"
#include "common/units.h"
#include "wire/durations.h"
#include "wire/timestamps.h"

namespace assay::agent {
namespace {

constexpr int kProtocolRevision = 1;
constexpr Duration kHelloTimeout = std::chrono::seconds(30);
constexpr Duration kDefaultHeartbeat = std::chrono::seconds(5);
constexpr Duration kLeastHeartbeat = std::chrono::milliseconds(100);
constexpr Duration kMostHeartbeat = std::chrono::minutes(5);
constexpr Duration kMostReconnectDelay = std::chrono::minutes(5);
constexpr size_t kRememberedStates = 64;
constexpr size_t kMaxFleetIdBytes = 128;
constexpr size_t kMaxAddressBytes = 300;
// The process must end within 10 s of SIGTERM, and closing the session takes a second.
constexpr Duration kHandBackTime = std::chrono::seconds(8);

}  // namespace

Session::Session(Options options)
    : options_(std::move(options)), heartbeat_period_(kDefaultHeartbeat) {
  Executor* executor = options_.executor;
  options_.occupancy->OnDirectLeft([this, executor, alive = std::weak_ptr<bool>(alive_)] {
    executor->Post([this, alive] {
      if (alive.expired()) return;
      StartWaitingJobs();
      StartCheckIfIdle();
    });
  });
  MutexLock lock(check_gate_->mutex);
  check_gate_->session = this;
}

Session::~Session() {
  {
    MutexLock lock(check_gate_->mutex);
    check_gate_->session = nullptr;
  }
  jobs_.clear();
  // Its callbacks use this object's executor.
  options_.spool->Flush();
}

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
  if (handing_back_ && !handing_back_->done) return link->Close("the agent stops", std::nullopt);
  CloseLink("replaced by a newer session", std::nullopt);
  link_ = std::move(link);
  phase_ = Phase::kGreeting;
  hello_deadline_ = options_.clock->Now() + kHelloTimeout;
  v1::AgentMessage message;
  *message.mutable_hello() = options_.node->Greeting();
  message.mutable_hello()->set_protocol_revision(kProtocolRevision);
  *message.mutable_hello()->mutable_time() = schema::ToTimestamp(options_.clock->WallNow());
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
  unknown_.clear();
  next_deletion_ = MonotonicTime::max();
  check_wanted_ = false;
  MutexLock lock(stats_mutex_);
  stats_.connected = false;
}

void Session::CloseLink(const std::string& reason, std::optional<ReconnectRequest> reconnect) {
  if (link_ == nullptr) return;
  link_->Close(reason, std::move(reconnect));
  GoOffline();
}

void Session::HandBack(const std::string& reason, std::function<void()> done) {
  handing_back_ = {reason, std::move(done), options_.clock->Now() + kHandBackTime};
  // Send this first, so that the coordinator does not assign a job to this agent again.
  SendGoingAway();
  const v1::Failure stopped = MakeFailure(v1::REASON_AGENT_STOPPED, reason);
  for (auto& [id, job] : jobs_) {
    if (job.launched != nullptr) job.Stop(stopped);
    if (job.state == AssignedJob::State::kWaiting) End(&job, {stopped, {}, {}});
  }
  SendState();
  LeaveIfHandedBack();
  Arm();
}

void Session::SendGoingAway() {
  if (!handing_back_ || phase_ != Phase::kLive) return;
  v1::AgentMessage message;
  message.mutable_going_away()->set_reason(handing_back_->reason);
  link_->Send(std::move(message));
}

void Session::LeaveIfHandedBack() {
  if (!handing_back_ || !handing_back_->done) return;
  const auto left = std::count_if(jobs_.begin(), jobs_.end(), [this](const auto& entry) {
    return entry.second.launched != nullptr || entry.second.fleet_id == fleet_id_;
  });
  if (left > 0 && options_.clock->Now() < handing_back_->deadline) return;
  if (left > 0) {
    Log().warn("{} jobs are not handed back within {}", left, FormatDuration(kHandBackTime));
  }
  CloseLink(handing_back_->reason, std::nullopt);
  std::exchange(handing_back_->done, nullptr)();
}

std::optional<Duration> Session::ReconnectWithin() const {
  if (handing_back_) return kHandBackTime / 8;
  if (jobs_.empty() && options_.spool->depth() == 0) return std::nullopt;
  return 2 * heartbeat_period_;
}

void Session::Received(const std::shared_ptr<Link>& link, const v1::CoordinatorMessage& message) {
  if (link != link_ || link_ == nullptr) return;
  if (message.has_hello_ack()) {
    OnHelloAck(message.hello_ack());
  } else if (message.has_reconnect()) {
    OnReconnect(message.reconnect());
  } else if (message.has_send_schemas()) {
    v1::AgentMessage answer;
    *answer.mutable_schemas() = options_.node->Schemas();
    link_->Send(std::move(answer));
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
  } else if (message.has_check_node()) {
    OnCheckNode();
  } else if (message.has_duplicate_node()) {
    OnDuplicateNode(message.duplicate_node());
  }
  LeaveIfHandedBack();
  Arm();
}

void Session::OnHelloAck(const v1::HelloAck& ack) {
  if (phase_ != Phase::kGreeting) return;
  if (ack.protocol_revision() < 1 || ack.protocol_revision() > kProtocolRevision) {
    Log().error("the coordinator speaks protocol revision {}, this agent 1 to {}",
                ack.protocol_revision(), kProtocolRevision);
    return CloseLink("no common protocol revision", std::nullopt);
  }
  if (ack.fleet_id().size() > kMaxFleetIdBytes) {
    Log().error("the coordinator's fleet id has {} bytes", ack.fleet_id().size());
    return CloseLink("malformed fleet id", std::nullopt);
  }
  if (ack.fleet_id() != fleet_id_) {
    fleet_id_ = ack.fleet_id();
    recently_finished_.clear();
  }
  phase_ = Phase::kLive;
  hello_deadline_ = MonotonicTime::max();
  heartbeat_period_ = ack.has_heartbeat_period() ? std::clamp(FromProto(ack.heartbeat_period()),
                                                              kLeastHeartbeat, kMostHeartbeat)
                                                 : kDefaultHeartbeat;
  Log().info("in session with coordinator {} ({}), heartbeat every {}", Cut(ack.coordinator_id()),
             Cut(ack.coordinator_version()), FormatDuration(heartbeat_period_));
  if (options_.welcomed) options_.welcomed();
  next_telemetry_ = {};
  SendGoingAway();
  SendState();
  const std::vector<ResultKey> keys = options_.spool->Keys(fleet_id_);
  unsent_.assign(keys.begin(), keys.end());
  SendResults();
  for (auto& [id, job] : jobs_) {
    job.finished_sent.reset();
    if (job.gang_token) SendGangReady(job);
    SendFinishedIfReported(&job);
  }
}

void Session::UpdateStats() {
  const auto running = std::count_if(jobs_.begin(), jobs_.end(), [](const auto& entry) {
    return !entry.second.replaced && entry.second.state == AssignedJob::State::kRunning;
  });
  MutexLock lock(stats_mutex_);
  stats_.running_jobs = static_cast<int>(running);
  stats_.connected = phase_ == Phase::kLive;
}

void Session::SendState() {
  UpdateStats();
  const MonotonicTime now = options_.clock->Now();
  next_heartbeat_ = now + heartbeat_period_;
  if (phase_ != Phase::kLive) return;
  {
    MutexLock lock(stats_mutex_);
    stats_.last_heartbeat = options_.clock->WallNow();
  }
  v1::AgentMessage message;
  for (const auto& [id, job] : jobs_) {
    if (job.replaced || job.fleet_id != fleet_id_) continue;
    *message.mutable_state()->add_running_jobs() = job.Progress();
  }
  sent_states_[++sequence_] = now;
  if (sent_states_.size() > kRememberedStates) sent_states_.erase(sent_states_.begin());
  message.mutable_state()->set_spool_depth(static_cast<int64_t>(options_.spool->depth()));
  message.mutable_state()->set_sequence(sequence_);
  if (options_.telemetry && now >= next_telemetry_) {
    next_telemetry_ = now + heartbeat_period_;
    for (v1::GpuTelemetry& gpu : options_.telemetry()) {
      *message.mutable_state()->add_gpus() = std::move(gpu);
    }
  }
  link_->Send(std::move(message));
}

void Session::Tick() {
  const MonotonicTime now = options_.clock->Now();
  if (now >= hello_deadline_) {
    Log().warn("the coordinator did not answer Hello within {}", FormatDuration(kHelloTimeout));
    CloseLink("no HelloAck", std::nullopt);
  }
  CheckLeases(now);
  LeaveIfHandedBack();
  if (phase_ == Phase::kLive) {
    Resend(now);
    DeleteUnknown(now);
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

void Session::OnReconnect(const v1::Reconnect& reconnect) {
  ReconnectRequest request;
  request.after = std::min(FromProto(reconnect.after()), kMostReconnectDelay);
  const Result<HostPort> address = ParseHostPort(reconnect.address());
  if (address.ok() && address->port > 0 && reconnect.address().size() <= kMaxAddressBytes) {
    request.address = address->ToString();
  }
  Log().info("the coordinator asks to reconnect after {}{}", FormatDuration(request.after),
             request.address.empty() ? "" : " to " + request.address);
  CloseLink("asked to reconnect", std::move(request));
}

void Session::OnDuplicateNode(const v1::DuplicateNode& other) {
  Log().error(
      "the coordinator has refused another agent with the node id {} of this agent: {}, from {}; "
      "was the data folder copied? Delete the copy's node_id",
      options_.node->description().node_id(), Cut(other.name()), Quote(Cut(other.address())));
}

void Session::OnCheckNode() {
  check_wanted_ = true;
  check_link_ = link_;
  StartCheckIfIdle();
}

void Session::StartCheckIfIdle() {
  if (!check_wanted_ || checking_ || handing_back_) return;
  // Do not check while the node measures, because the start of a runner would disturb that.
  if (!options_.occupancy->TryEnterDirect()) return;
  check_wanted_ = false;
  checking_ = true;
  options_.check_node([gate = check_gate_](v1::NodeChecked checked) {
    MutexLock lock(gate->mutex);
    Session* const session = gate->session;
    if (session == nullptr) return;
    session->Post([session, checked = std::move(checked)] { session->OnChecked(checked); });
  });
}

void Session::OnChecked(v1::NodeChecked checked) {
  checking_ = false;
  options_.occupancy->LeaveDirect();
  if (phase_ != Phase::kLive || check_link_.lock() != link_) return;
  check_wanted_ = false;  // Asked again meanwhile: this answers both.
  v1::AgentMessage message;
  *message.mutable_node_checked() = std::move(checked);
  link_->Send(std::move(message));
}

AssignedJob* Session::FindOfFleet(const std::string& job_id, int64_t epoch) {
  AssignedJob* const job = Find(job_id, epoch);
  return job != nullptr && job->fleet_id == fleet_id_ ? job : nullptr;
}

AssignedJob* Session::Find(const std::string& job_id, int64_t epoch) {
  const auto found = jobs_.find({job_id, epoch});
  return found == jobs_.end() ? nullptr : &found->second;
}

}  // namespace assay::agent
