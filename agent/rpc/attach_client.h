// Dials the coordinator and keeps a session with it: FleetService.Attach.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "agent/core/backoff.h"
#include "agent/core/session.h"
#include "assay/v1/fleet_service.grpc.pb.h"
#include "common/executor.h"
#include "common/mutex.h"

namespace assay::agent {

// Keeps a session with the coordinator open: opens a stream and, whenever it ends, opens another
// one after a delay (see Backoff). Use and destroy this object on the executor; only AwaitEnd is
// called from another thread.
class AttachClient {
 public:
  // `executor` must exist until AwaitEnd has returned. `fleet` is the fleet named in this node's
  // certificate. If it is not empty, the server must have a certificate of a coordinator or proxy
  // of the same fleet.
  AttachClient(std::shared_ptr<grpc::Channel> channel, std::string coordinator, std::string fleet,
               std::weak_ptr<Session> session, Executor* executor, uint64_t seed);
  ~AttachClient();
  AttachClient(const AttachClient&) = delete;
  AttachClient& operator=(const AttachClient&) = delete;

  void Start() { Dial(); }
  // Stops connecting. A running call ends soon after the session has left it.
  void Stop();
  // Call after Stop, from any thread except the executor's: waits until no call is left.
  void AwaitEnd();

 private:
  class Stream;
  // True while a call is running; shared with the call, which may outlive the client.
  struct Activity {
    Mutex mutex;
    CondVar changed;
    bool calling ASSAY_GUARDED_BY(mutex) = false;
  };

  void Dial();
  void OnCallEnded(const grpc::Status& status, std::optional<Duration> reconnect_after);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::FleetService::Stub> stub_;
  const std::string coordinator_;
  const std::string fleet_;
  const std::weak_ptr<Session> session_;
  Executor* const executor_;
  // Tasks and streams hold a weak reference: those that outlive this object do nothing.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  const std::shared_ptr<Activity> activity_ = std::make_shared<Activity>();

  Backoff backoff_;
  bool stopped_ = false;
  MonotonicTime dial_time_;
};

}  // namespace assay::agent
