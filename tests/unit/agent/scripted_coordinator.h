// A coordinator that answers as a test tells it, over real gRPC on loopback.
#pragma once

#include <grpcpp/server_builder.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/v1/fleet_service.grpc.pb.h"
#include "common/mutex.h"

namespace assay::agent {

inline v1::CoordinatorMessage HelloAck() {
  v1::CoordinatorMessage message;
  message.mutable_hello_ack()->set_protocol_revision(1);
  return message;
}

// The answer to one Hello.
struct ScriptedSession {
  std::vector<v1::CoordinatorMessage> messages = {HelloAck()};
  std::optional<grpc::Status> end;  // Ends the call after the messages; absent: the agent ends it.
};

// The answer of a coordinator that does not schedule the fleet.
inline ScriptedSession SendAwayTo(const std::string& address) {
  v1::CoordinatorMessage message;
  message.mutable_reconnect()->set_address(address);
  return {{message}, grpc::Status(grpc::StatusCode::UNAVAILABLE, "another one schedules")};
}

// A coordinator's end of FleetService.Attach. It acknowledges all results and ends of jobs, and
// keeps what agents say.
class ScriptedCoordinator : public v1::FleetService::Service {
 public:
  using Stream = grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::AgentMessage>;

  // The last session of the script is repeated.
  explicit ScriptedCoordinator(std::vector<ScriptedSession> script = {ScriptedSession()})
      : script_(std::move(script)) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  ~ScriptedCoordinator() override { server_->Shutdown(std::chrono::system_clock::now()); }

  const std::string& address() const { return address_; }

  grpc::Status Attach(grpc::ServerContext*, Stream* stream) override {
    for (v1::AgentMessage message; stream->Read(&message);) {
      v1::CoordinatorMessage answer;
      if (message.has_hello()) {
        const ScriptedSession session = NextSession();
        for (const v1::CoordinatorMessage& one : session.messages) stream->Write(one);
        if (session.end) {
          Keep(message);
          return *session.end;
        }
      } else if (message.has_case_result()) {
        v1::ResultAck* ack = answer.mutable_result_ack();
        ack->set_job_id(message.case_result().job_id());
        ack->set_epoch(message.case_result().epoch());
        ack->set_case_index(message.case_result().case_index());
        ack->set_verdict(v1::ResultAck::VERDICT_STORED);
        stream->Write(answer);
      } else if (message.has_job_finished()) {
        answer.mutable_job_finished_ack()->set_job_id(message.job_finished().job_id());
        answer.mutable_job_finished_ack()->set_epoch(message.job_finished().epoch());
        stream->Write(answer);
      }
      Keep(message);
    }
    return grpc::Status::OK;
  }

  // Waits for a message that `holds` accepts, and returns it.
  v1::AgentMessage Await(const std::function<bool(const v1::AgentMessage&)>& holds) {
    MutexLock lock(mutex_);
    while (true) {
      const auto found = std::find_if(messages_.begin(), messages_.end(), holds);
      if (found != messages_.end()) return *found;
      changed_.Wait(mutex_);
    }
  }
  v1::AgentMessage Await(v1::AgentMessage::KindCase kind) {
    return Await([kind](const auto& message) { return message.kind_case() == kind; });
  }

 private:
  ScriptedSession NextSession() {
    MutexLock lock(mutex_);
    return script_[std::min(sessions_++, script_.size() - 1)];
  }

  void Keep(const v1::AgentMessage& message) {
    MutexLock lock(mutex_);
    messages_.push_back(message);
    changed_.NotifyAll();
  }

  const std::vector<ScriptedSession> script_;
  std::string address_;
  Mutex mutex_;
  CondVar changed_;
  size_t sessions_ ASSAY_GUARDED_BY(mutex_) = 0;
  std::vector<v1::AgentMessage> messages_ ASSAY_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace assay::agent
