// One address that the coordinator dials. dialer.h shows its states.
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <optional>
#include <string>

#include "assay/v1/agent_service.grpc.pb.h"
#include "common/mutex.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/stream_link.h"

namespace assay::coordinator::rpc {

// Thread-safe. Create with std::make_shared. The coordinator outlives it.
class DialTarget : public std::enable_shared_from_this<DialTarget> {
 public:
  DialTarget(Coordinator& coordinator, std::string address,
             const std::shared_ptr<grpc::Channel>& channel)
      : coordinator_(coordinator),
        address_(std::move(address)),
        stub_(v1::AgentService::NewStub(channel)) {}

  // Opens a session. Call once; afterwards it calls itself whenever a session has ended.
  void Open();
  // Ends the session with `status` and opens no more.
  void Forget(const Status& status);

  // Blocks until the stream has ended. Returns false if it has not at `deadline`.
  bool AwaitEnd(std::chrono::steady_clock::time_point deadline);

  // Records that the agent has a session through this address.
  void NoteAgent(const Agent& agent);
  // Returns the agent that has a session now, if any.
  std::optional<Agent> agent() const;
  // Returns the reason why the last session ended; OK if none has ended.
  Status last_error() const;

  // Handles the end of the stream, with its status.
  void OnStreamEnded(const Status& status);
  v1::AgentService::Stub& stub() { return *stub_; }

 private:
  Duration NextDelay() ASSAY_REQUIRES(mutex_);

  Coordinator& coordinator_;
  const std::string address_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;

  mutable Mutex mutex_;
  CondVar ended_;
  bool open_ ASSAY_GUARDED_BY(mutex_) = false;  // A stream exists and has not ended.
  std::shared_ptr<StreamLink> link_ ASSAY_GUARDED_BY(mutex_);
  std::optional<Agent> agent_ ASSAY_GUARDED_BY(mutex_);
  Status last_error_ ASSAY_GUARDED_BY(mutex_);
  MonotonicTime opened_ ASSAY_GUARDED_BY(mutex_);
  int failures_ ASSAY_GUARDED_BY(mutex_) = 0;
  bool forgotten_ ASSAY_GUARDED_BY(mutex_) = false;
};

}  // namespace assay::coordinator::rpc
