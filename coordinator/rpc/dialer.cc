#include "coordinator/rpc/dialer.h"

#include <grpcpp/create_channel.h>

#include <utility>

#include "common/host_port.h"
#include "common/log.h"
#include "common/units.h"
#include "coordinator/rpc/dial_target.h"

namespace assay::coordinator::rpc {
namespace {

// Describes the last attempt to reach an agent; empty if nothing is known.
std::string Cause(const Status& why) {
  if (why.ok()) return "";
  if (why.code() == Code::kUnimplemented) return ": what listens there is not an agent";
  return ": " + (why.message().empty() ? std::string(CodeName(why.code())) : why.message());
}

Status Forgotten() { return FailedPrecondition("the node was removed", Reason::kNodeRemoved); }

}  // namespace

Dialer::Dialer(Coordinator& coordinator, const Calls& calls, assay::rpc::TlsFiles tls,
               bool insecure)
    : coordinator_(coordinator), calls_(calls), tls_(std::move(tls)), insecure_(insecure) {}

Dialer::~Dialer() = default;

Status Dialer::Dial(const std::string& address) {
  const Result<HostPort> parsed = ParseHostPort(address);
  if (!parsed.ok()) return parsed.status();
  if (parsed->port == 0) return InvalidArgument(address + " has port 0, which nobody listens on");
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
