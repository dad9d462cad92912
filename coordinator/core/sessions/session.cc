#include "coordinator/core/sessions/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "campaign/gang_network.h"
#include "common/host_port.h"
#include "common/log.h"
#include "common/text.h"
#include "common/uuid.h"
#include "coordinator/core/guarded.h"
#include "coordinator/core/sessions/clock_offset.h"
#include "storage/store_rules.h"
#include "wire/benchmark_schema.h"
#include "wire/bounds.h"
#include "wire/durations.h"

namespace assay::coordinator {
namespace {

constexpr size_t kMaxHeldMessages = 256;
constexpr size_t kMaxHeldBytes = size_t{8} << 20;
// Maximum number of results that are stored by one SQL statement.
constexpr size_t kResultBatch = 64;

// Delay after which an agent that has connected to a follower connects to the leader.
constexpr Duration kSendAwayPause = std::chrono::milliseconds(200);

Status BadHello(std::string message) {
  return InvalidArgument(std::move(message), Reason::kInvalidHello);
}

// Number of times that a message is handled again after an error that the agent did not cause.
constexpr int kTries = 10;

// Returns true if the agent caused the error, for example by violating the protocol. Other errors
// are caused by the database or by this process and do not end the session.
bool IsFaultOfPeer(const Status& status) {
  switch (status.code()) {
    case Code::kInvalidArgument:
    case Code::kPermissionDenied:
    case Code::kAlreadyExists:
    case Code::kFailedPrecondition:
    case Code::kNotFound:
      return true;
    default:
      return false;
  }
}

// Truncates failure texts that are too long. If the message were rejected instead, the job could
// not end.
void CutFailures(v1::AgentMessage& message) {
  if (message.has_job_finished()) schema::CutToBounds(*message.mutable_job_finished());
  if (message.has_case_result() && message.case_result().has_failure()) {
    schema::CutToBounds(*message.mutable_case_result()->mutable_failure());
  }
}

// Returns the address at which Prometheus can read the agent's metrics. This is `claimed`, the
// address reported by the agent. If its host is a wildcard such as 0.0.0.0, replaces the host with
// `peer`, the address from which the agent's stream comes.
//
// So that nodes cannot direct requests to other machines, returns an empty string unless the host
// is `peer` or the host of `dialled`, the address that the coordinator dialed.
std::string MetricsAddress(const std::string& claimed, const std::string& peer,
                           const std::string& dialled) {
  Result<HostPort> address = ParseHostPort(claimed);
  if (!address.ok()) return "";
  if (address->host == "0.0.0.0" || address->host == "::") address->host = peer;
  const Result<HostPort> dial = ParseHostPort(dialled);
  const bool known = address->host == peer || (dial.ok() && address->host == dial->host);
  return known && !address->host.empty() ? address->ToString() : "";
}

}  // namespace

Status CheckHello(const v1::Hello& hello) {
  if (!hello.has_node()) return BadHello("Hello has no node");
  const v1::NodeDescription& node = hello.node();
  if (!IsUuid(node.node_id())) {
    return BadHello("node_id \"" + Cut(node.node_id()) + "\" is not a UUID in lower case");
  }
  if (!schema::IsNodeName(node.name())) {
    return BadHello(
        "a node's name must be 1 to 200 printable ASCII characters without spaces at "
        "the ends; " +
        Quote(node.name()) + " is not");
  }
  if (hello.protocol_revision() < 1) {
    return BadHello(
        fmt::format("protocol revision {} does not exist; this coordinator speaks 1 "
                    "to {}",
                    hello.protocol_revision(), kProtocolRevision));
  }
  return schema::CheckBounds(hello, Reason::kInvalidHello);
}

Status CheckPeer(const Identity& peer, const v1::NodeDescription& node) {
  const auto refused = [](const std::string& message) {
    return Status(Code::kPermissionDenied, Reason::kNotPermitted, message);
  };
  if (peer.role == Role::kLocalAdmin) return Status::Ok();
  if (peer.role != Role::kNode) {
    return refused("the agent's certificate has the role " + std::string(RoleName(peer.role)) +
                   ", not node");
  }
  if (node.node_id() != peer.id || node.name() != peer.name) {
    return refused(fmt::format("the certificate is of node {} ({}), but Hello names {} ({})",
                               Quote(peer.name), Quote(peer.id), Quote(node.name()),
                               Quote(node.node_id())));
  }
  return Status::Ok();
}

Session::Session(const SessionServices& services, std::shared_ptr<SessionSink> sink,
                 std::string dial_address)
    : services_(services), sink_(std::move(sink)), dial_address_(std::move(dial_address)) {}

bool Session::OnMessage(v1::AgentMessage message) {
  CutFailures(message);
  bool read_on = true;
  {
    MutexLock lock(mutex_);
    if (state_ == State::kClosed) return true;
    if (message.has_hello() && !hello_time_) {
      hello_time_ = services_.environment.clock.WallNow();
    }
    ++held_messages_;
    held_bytes_ += message.ByteSizeLong();
    inbox_.push_back(std::move(message));
    if (held_messages_ >= kMaxHeldMessages || held_bytes_ >= kMaxHeldBytes) {
      paused_ = true;
      read_on = false;
    }
    if (draining_) return read_on;
    draining_ = true;
  }
  services_.environment.executor.Post([self = shared_from_this()] { self->Drain(0); });
  return read_on;
}

void Session::OnClosed() {
  {
    MutexLock lock(mutex_);
    if (state_ == State::kClosed) return;
    state_ = State::kClosed;
    inbox_.clear();
    paused_ = false;
    if (node_id_.empty()) return;
  }
  services_.environment.executor.Post([self = shared_from_this()] { self->Disconnect(0); });
}

void Session::Drain(int attempt) {
  Work work = TakeWork();
  if (work.empty()) return;
  const Status handled = Guarded("Session", [&] { return Handle(work); });
  const bool away = services_.outage.NoteFailure(handled);
  if (away || (!handled.ok() && !IsFaultOfPeer(handled) && attempt < kTries)) {
    PutBack(std::move(work));
    services_.environment.executor.PostAfter(
        RetryDelay(attempt), [self = shared_from_this(), attempt] { self->Drain(attempt + 1); });
    return;
  }
  if (!handled.ok() && (IsFaultOfPeer(handled) || work.front().has_hello())) {
    Log().warn("a session ends: {}", handled.ToString());
    sink_->Close(handled);
    OnClosed();
  } else if (!handled.ok()) {
    // The content is not lost, because the agent repeats messages that are not acknowledged.
    Log().error("a message of node {} is dropped: {}", node_id(), handled.ToString());
  }
  if (Release(work)) sink_->ReadMore();
  // Post the next step instead of looping, because other sessions share these threads.
  services_.environment.executor.Post([self = shared_from_this()] { self->Drain(0); });
}

std::string Session::node_id() {
  MutexLock lock(mutex_);
  return node_id_;
}

Session::Work Session::TakeWork() {
  MutexLock lock(mutex_);
  Work work;
  while (!inbox_.empty() && work.size() < kResultBatch) {
    const bool result = inbox_.front().has_case_result();
    if (!work.empty() && !result) break;
    work.push_back(std::move(inbox_.front()));
    inbox_.pop_front();
    if (!result) break;
  }
  if (work.empty()) draining_ = false;
  return work;
}

void Session::PutBack(Work work) {
  MutexLock lock(mutex_);
  if (state_ == State::kClosed) return;
  inbox_.insert(inbox_.begin(), std::make_move_iterator(work.begin()),
                std::make_move_iterator(work.end()));
}

bool Session::Release(const Work& work) {
  MutexLock lock(mutex_);
  held_messages_ -= work.size();
  for (const v1::AgentMessage& message : work) held_bytes_ -= message.ByteSizeLong();
  if (!paused_ || held_messages_ > kMaxHeldMessages / 2 || held_bytes_ > kMaxHeldBytes / 2) {
    return false;
  }
  paused_ = false;
  return true;
}

Status Session::Handle(const Work& work) {
  const v1::AgentMessage& first = work.front();
  State state;
  {
    MutexLock lock(mutex_);
    state = state_;
  }
  switch (state) {
    case State::kNew:
    case State::kConnecting:  // The same message again, after the database was away.
      if (first.has_schemas()) return HandleSchemas(first.schemas());
      if (!first.has_hello() || hello_) {
        return InvalidArgument("the first message of a session has to be Hello",
                               Reason::kProtocolViolation);
      }
      return HandleHello(first.hello());
    case State::kActive:
      return first.has_case_result() ? HandleResults(work) : HandleActive(first);
    case State::kClosed:
      break;
  }
  return Status::Ok();
}

Status Session::HandleHello(const v1::Hello& hello) {
  ASSAY_RETURN_IF_ERROR(CheckHello(hello));
  if (!services_.leadership.IsLeader()) return SendAway();
  if (hello.schemas_hash().empty()) return Greet(hello);
  ASSAY_ASSIGN_OR_RETURN(const std::shared_ptr<const v1::Schemas> known,
                         services_.environment.nodes.GetSchemas(hello.schemas_hash()));
  if (!known) {
    hello_ = hello;
    v1::CoordinatorMessage message;
    message.mutable_send_schemas();
    sink_->Send(std::move(message));
    return Status::Ok();
  }
  v1::Hello whole = hello;
  *whole.mutable_node()->mutable_benchmarks() = known->benchmarks();
  return Greet(whole);
}

Status Session::HandleSchemas(const v1::Schemas& schemas) {
  if (!hello_) return BadHello("schemas came without being asked for");
  if (schema::SchemasHash(schemas) != hello_->schemas_hash()) {
    return BadHello("the schemas do not have the hash that Hello names");
  }
  v1::Hello whole = *hello_;
  *whole.mutable_node()->mutable_benchmarks() = schemas.benchmarks();
  ASSAY_RETURN_IF_ERROR(CheckHello(whole));
  return Greet(whole);
}

Status Session::SendAway() {
  const std::string leader = services_.leadership.LeaderAddress();
  v1::CoordinatorMessage message;
  *message.mutable_reconnect()->mutable_after() = ToProto(kSendAwayPause);
  message.mutable_reconnect()->set_address(leader);
  sink_->Send(std::move(message));
  sink_->Close(Unavailable(leader.empty() ? "another coordinator schedules the fleet, or none yet"
                                          : "the coordinator at " + leader + " schedules the fleet",
                           Reason::kOtherCoordinator));
  OnClosed();
  return Status::Ok();
}

Status Session::Greet(const v1::Hello& hello) {
  v1::NodeDescription node = hello.node();
  node.set_metrics_address(
      MetricsAddress(node.metrics_address(), sink_->PeerAddress(), dial_address_));
  // If the coordinator dialed the agent, the agent is not behind NAT.
  if (!node.advertise_address_given() && dial_address_.empty()) {
    node.set_advertise_address(
        campaign::AddressSeenFrom(node.advertise_address(), sink_->PeerAddress()));
  }
  const Identity peer = sink_->Peer();
  ASSAY_RETURN_IF_ERROR(CheckPeer(peer, node));
  ASSAY_RETURN_IF_ERROR(ApplyInvite(peer, node));
  Agent agent{node.node_id(), node.name(),   node.agent_instance_id(),
              dial_address_,  peer.key_hash, nullptr,
              nullptr,        nullptr,       std::nullopt};
  ASSAY_RETURN_IF_ERROR(CheckReplacement(agent));
  {
    MutexLock lock(mutex_);
    if (state_ == State::kClosed) return Status::Ok();
    state_ = State::kConnecting;
    node_id_ = node.node_id();
    agent.clock_offset_seconds = ClockOffset(hello, *hello_time_);
  }
  AddClockFinding(agent.clock_offset_seconds, node);
  ASSAY_RETURN_IF_ERROR(services_.environment.nodes.Connect(
      services_.options.coordinator_id, node, dial_address_, services_.options.lease));
  v1::Schemas schemas;
  schemas.mutable_benchmarks()->Swap(node.mutable_benchmarks());
  ASSAY_ASSIGN_OR_RETURN(agent.schemas,
                         services_.environment.nodes.GetSchemas(schema::SchemasHash(schemas)));
  if (!agent.schemas) return Internal("the schemas of a node are not stored");
  agent.own_description = std::make_shared<const v1::NodeDescription>(std::move(node));
  ASSAY_ASSIGN_OR_RETURN(const std::string fleet_id, services_.environment.fleet.GetFleetId());
  v1::CoordinatorMessage message;
  v1::HelloAck* ack = message.mutable_hello_ack();
  ack->set_protocol_revision(std::min(hello.protocol_revision(), kProtocolRevision));
  ack->set_coordinator_id(services_.options.coordinator_id);
  ack->set_coordinator_version(ASSAY_VERSION);
  *ack->mutable_heartbeat_period() = ToProto(services_.options.heartbeat);
  ack->set_fleet_id(fleet_id);
  sink_->Send(std::move(message));
  services_.sessions.Put(agent, sink_);
  {
    MutexLock lock(mutex_);
    if (state_ == State::kConnecting) state_ = State::kActive;
    // If the session was closed in the meantime, Disconnect may have run before Put and found
    // nothing to remove. Run it again.
    if (state_ == State::kClosed) {
      services_.environment.executor.Post([self = shared_from_this()] { self->Disconnect(0); });
      return Status::Ok();
    }
  }
  Log().info("node {} ({}) is in session{}", agent.name, agent.node_id,
             dial_address_.empty() ? "" : ", dialled at " + dial_address_);
  services_.on_attached(agent);
  return Status::Ok();
}

Status Session::ApplyInvite(const Identity& peer, v1::NodeDescription& node) const {
  storage::IdentityStore* const identities = services_.environment.identities;
  if (identities == nullptr || peer.key_hash.empty()) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(const auto enrolled, identities->FindKey(peer.key_hash));
  if (!enrolled) return Status::Ok();
  v1::NodeSettings settings;
  *settings.mutable_labels() = enrolled->labels();
  if (enrolled->has_price_per_hour()) settings.set_price_per_hour(enrolled->price_per_hour());
  storage::ApplySettings(settings, &node);
  if (!enrolled->provider().empty()) node.set_provider(enrolled->provider());
  return Status::Ok();
}

Status Session::CheckReplacement(const Agent& agent) {
  const std::string address = sink_->PeerAddress();
  Status allowed =
      services_.sessions.CheckReplacement(agent, address, 2 * services_.options.heartbeat);
  if (allowed.reason() == Reason::kDuplicateNode) {
    v1::CoordinatorMessage message;
    message.mutable_duplicate_node()->set_name(agent.name);
    message.mutable_duplicate_node()->set_address(address);
    services_.sessions.Send(agent.node_id, std::move(message));
  }
  return allowed;
}

Status Session::HandleResults(const Work& work) {
  std::vector<v1::CaseResult> results;
  results.reserve(work.size());
  for (const v1::AgentMessage& message : work) results.push_back(message.case_result());
  const std::string node_id = this->node_id();
  ASSAY_ASSIGN_OR_RETURN(std::vector<v1::ResultAck> acks, services_.results.Take(node_id, results));
  for (v1::ResultAck& ack : acks) {
    v1::CoordinatorMessage message;
    *message.mutable_result_ack() = std::move(ack);
    sink_->Send(std::move(message));
  }
  return Status::Ok();
}

Status Session::HandleActive(const v1::AgentMessage& message) {
  const std::string node_id = this->node_id();
  ASSAY_RETURN_IF_ERROR(schema::CheckBounds(message, Reason::kProtocolViolation));
  switch (message.kind_case()) {
    case v1::AgentMessage::kState:
      services_.sessions.SetState(node_id, sink_.get(), message.state());
      services_.heartbeats.Submit(node_id, message.state());
      return Status::Ok();
    case v1::AgentMessage::kGangReady:
      return services_.attempts.Ready(node_id, message.gang_ready());
    case v1::AgentMessage::kJobFinished:
      return services_.attempts.Finished(node_id, message.job_finished());
    case v1::AgentMessage::kGoingAway:
      Log().info("node {} is leaving: {}", node_id, Cut(message.going_away().reason()));
      services_.sessions.MarkLeaving(node_id, sink_.get());
      return Status::Ok();
    case v1::AgentMessage::kNodeChecked:
      if (!services_.quarantine.WasAsked(node_id)) return Status::Ok();
      ASSAY_RETURN_IF_ERROR(StoreHealth(node_id, message.node_checked()));
      return services_.quarantine.Checked(node_id, message.node_checked());
    case v1::AgentMessage::kHello:
      return InvalidArgument("a session has one Hello, at its beginning",
                             Reason::kProtocolViolation);
    default:
      // Ignore unknown messages, because the agent may be newer than the coordinator and use a
      // later revision of the protocol.
      return Status::Ok();
  }
}

Status Session::StoreHealth(const std::string& node_id, const v1::NodeChecked& checked) {
  std::optional<Agent> agent = services_.sessions.Find(node_id);
  if (!agent) return Status::Ok();
  v1::NodeDescription node = *agent->own_description;
  *node.mutable_health() = checked.health();
  AddClockFinding(agent->clock_offset_seconds, node);
  agent->own_description = std::make_shared<const v1::NodeDescription>(node);
  services_.sessions.SetDescription(node_id, sink_.get(), agent->own_description);
  return StoreAgent(*agent);
}

Status Session::StoreAgent(const Agent& agent) {
  v1::NodeDescription whole = *agent.own_description;
  *whole.mutable_benchmarks() = agent.schemas->benchmarks();
  return services_.environment.nodes.Connect(services_.options.coordinator_id, whole,
                                             agent.dial_address, services_.options.lease);
}

void Session::Disconnect(int attempt) {
  const std::string node_id = this->node_id();
  // On the first attempt, remove this session from the registry. If it is not there, a newer
  // session of the same node has replaced it, and nothing is left to do.
  if (attempt == 0 && !services_.sessions.Drop(node_id, sink_.get())) return;
  const Options& options = services_.options;
  storage::NodeStore& nodes = services_.environment.nodes;
  Status done = Status::Ok();
  if (!services_.sessions.Has(node_id)) done = nodes.Disconnect(options.coordinator_id, node_id);
  // The node may have opened a new session in the meantime. In that case, Disconnect has wrongly
  // marked the node as disconnected, so store its agent again.
  if (const auto agent = services_.sessions.Find(node_id); done.ok() && agent) {
    done = StoreAgent(*agent);
  }
  if (services_.outage.NoteFailure(done)) {
    services_.environment.executor.PostAfter(
        RetryDelay(attempt),
        [self = shared_from_this(), attempt] { self->Disconnect(attempt + 1); });
    return;
  }
  Log().info("node {} has left its session", node_id);
}

}  // namespace assay::coordinator
