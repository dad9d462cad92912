// Dials agents and keeps one session with each of them. An agent is dialed again when its session
// ends.
//
//   +---------+ stream ends  +---------+
//   | dialed  | -----------> | waiting |   0.5 s, doubled up to 60 s, each with full
//   +---------+ <----------- +---------+   jitter; from 0.5 s again after a session of
//        |        delay over      |        two minutes
//        +----- Forget, Stop -----+--> forgotten
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"
#include "wire/credentials.h"

namespace assay::coordinator::rpc {

class DialTarget;

// The part of the coordinator that connects to agents instead of waiting for them to connect.
// Thread-safe. Call Stop before destruction.
class Dialer {
 public:
  Dialer(Coordinator& coordinator, const Calls& calls, assay::rpc::TlsFiles tls, bool insecure);
  ~Dialer();

  // Opens a session with the agent at `address` (HOST:PORT), and a new one whenever a session ends.
  // Does nothing if this dialer already uses `address`. Returns INVALID_ARGUMENT if the address is
  // malformed, or another error if the credentials do not permit connecting to it.
  Status Dial(const std::string& address);

  // Waits for a session with the agent at `address`, for which Dial must have been called. Then
  // calls `answered` with the agent. If `patience` expires or the dialer stops first, calls
  // `answered` with an error instead. Calls it exactly once.
  using Answered = std::function<void(Result<Agent>)>;
  void AwaitHello(const std::string& address, Duration patience, Answered answered);

  // Causes the dialer to dial the addresses in `stored`, plus those that AddNode is trying, and no
  // others. Call this regularly, because other coordinators also add and remove addresses. Only the
  // leader dials agents, so other coordinators must pass an empty list.
  void Follow(const std::vector<std::string>& stored);

  // Ends the session and stops dialing.
  void Forget(const std::string& address);
  // Returns true if the address is dialed.
  bool Dials(const std::string& address) const;

  // Records that an agent has a session. Either side may have opened the connection.
  void OnAttached(const Agent& agent);

  // Stops dialing all addresses and waits for their streams to end.
  void Stop(Duration patience);

 private:
  Coordinator& coordinator_;
  const Calls& calls_;
  const assay::rpc::TlsFiles tls_;
  const bool insecure_;

  struct Waiter {
    std::string address;
    Answered answered;
  };
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<DialTarget>> targets_ ASSAY_GUARDED_BY(mutex_);
  int64_t last_waiter_ ASSAY_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, Waiter> waiters_ ASSAY_GUARDED_BY(mutex_);
  std::set<std::string> followed_ ASSAY_GUARDED_BY(mutex_);  // Addresses that are stored.
};

}  // namespace assay::coordinator::rpc
