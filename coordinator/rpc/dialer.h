// Agents that the coordinator dials: one session each, dialled again when it ends.
//
//   +---------+ stream ends  +---------+
//   | dialled | -----------> | waiting |   0.5 s, doubled up to 60 s, each with full
//   +---------+ <----------- +---------+   jitter; from 0.5 s again after a session of
//        |        delay over      |        two minutes
//        +----- Forget, Stop -----+--> forgotten
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"
#include "wire/credentials.h"

namespace assay::coordinator::rpc {

class DialTarget;

// Thread-safe. Call Stop before destruction.
class Dialer {
 public:
  Dialer(Coordinator& coordinator, const Calls& calls, assay::rpc::TlsFiles tls, bool insecure);
  ~Dialer();

  // Keeps a session with the agent at `address` (HOST:PORT) from now on. An address
  // already dialled is left as it is. INVALID_ARGUMENT for what is no address or cannot
  // be dialled with these credentials.
  Status Dial(const std::string& address);

  // Called once: with the agent when the address is in session, or with the reason why
  // not within `patience`. Dial first.
  using Answered = std::function<void(Result<Agent>)>;
  void AwaitHello(const std::string& address, Duration patience, Answered answered);

  // Ends the session and dials no more.
  void Forget(const std::string& address);
  // True if the address is dialled.
  bool Dials(const std::string& address) const;

  // An agent is in session, dialled or not.
  void OnAttached(const Agent& agent);

  // Forgets every address and waits for their streams to end.
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
};

}  // namespace assay::coordinator::rpc
