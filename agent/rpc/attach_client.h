// Keeps a session with one of the fleet's coordinators, through the call FleetService.Attach.
#pragma once

#include <grpcpp/channel.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/core/backoff.h"
#include "agent/core/session.h"
#include "assay/v1/fleet_service.grpc.pb.h"
#include "common/executor.h"
#include "common/mutex.h"

namespace assay::agent {

// A client that keeps a session open with one of the coordinators. While it has no session, the
// client tries the coordinators in rounds, with a delay before each round except the first (see
// Backoff). Each round tries every coordinator at most once, in this order:
//   1. the one named by a Reconnect message,
//   2. the one that held the last session,
//   3. all others, in the order of the list.
// Use and destroy this object on the executor. Call only AwaitEnd from another thread.
class AttachClient {
 public:
  // Creates a channel to HOST:PORT. The error says why that is impossible.
  using ChannelFactory =
      std::function<Result<std::shared_ptr<grpc::Channel>>(const std::string& address)>;

  // `coordinators` is a non-empty list of addresses (HOST:PORT). `fleet` is the fleet named in this
  // node's certificate. Unless it is empty, connects only to servers whose certificate identifies
  // them as a coordinator or proxy of this fleet. `executor` must outlive AwaitEnd().
  AttachClient(std::vector<std::string> coordinators, ChannelFactory make_channel,
               std::string fleet, std::weak_ptr<Session> session, Executor* executor,
               uint64_t seed);
  ~AttachClient();
  AttachClient(const AttachClient&) = delete;
  AttachClient& operator=(const AttachClient&) = delete;

  // Registers a callback for the end of each call to a coordinator. Call this before Start. The
  // callback runs on the executor. `why` is OK if the coordinator ended the call normally.
  // `had_session` says whether there has been a session since Start.
  using CallEnded =
      std::function<void(const std::string& address, const Status& why, bool had_session)>;
  void OnCallEnd(CallEnded callback) { call_ended_ = std::move(callback); }

  void Start() { Dial(); }
  // Discards all channels, so that later calls create new ones, for example to use a new
  // certificate. A call in progress keeps its channel.
  void RenewChannels() { targets_.clear(); }
  // Stops connecting. A running call ends soon after the session has closed its link.
  void Stop();
  // Stops connecting and breaks a running call, as if this machine had died. For simulated nodes.
  void Abort();
  // Call after Stop or Abort, from any thread except the executor's: waits until no call is left.
  void AwaitEnd();

 private:
  class Stream;
  // Shared with the calls, which may outlive the client.
  struct Activity {
    Mutex mutex;
    CondVar changed;
    int calls ASSAY_GUARDED_BY(mutex) = 0;  // The next call may begin before the last one is gone.
  };
  struct Target {
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<v1::FleetService::Stub> stub;
  };
  struct CallEnd {
    grpc::Status status;
    bool welcomed = false;  // The coordinator had answered Hello.
    std::optional<ReconnectRequest> reconnect;
  };

  void BeginRound();
  void Dial();
  Result<v1::FleetService::Stub*> StubOf(const std::string& address);
  void OnCallEnded(const CallEnd& end);
  void PreferNamed(const std::string& address, bool next_round);
  void ForgetUnlisted();

  const std::vector<std::string> coordinators_;
  const ChannelFactory make_channel_;
  const std::string fleet_;
  const std::weak_ptr<Session> session_;
  Executor* const executor_;
  // Tasks and streams hold a weak reference to this. If they outlive this object, they do nothing.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  const std::shared_ptr<Activity> activity_ = std::make_shared<Activity>();

  CallEnded call_ended_;
  std::weak_ptr<Stream> stream_;  // Of the last call.
  Backoff backoff_;
  bool stopped_ = false;
  MonotonicTime dial_time_;
  std::map<std::string, Target> targets_;  // By address, made when first dialled.
  std::deque<std::string> round_;          // The addresses not tried yet in this round.
  std::set<std::string> tried_;            // The others.
  std::string dialled_;                    // The address of the last try.
  std::string named_;                      // Begins the next round; empty: none.
  std::string last_welcome_;               // The address of the last session; empty: none yet.
};

}  // namespace assay::agent
