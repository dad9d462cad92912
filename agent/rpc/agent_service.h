// Implements the agent's gRPC service, through which coordinators open sessions with the agent.
// Users can also call it directly, without a coordinator, to query the node's inventory and
// benchmarks or to run single jobs.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "agent/core/job_launcher.h"
#include "agent/core/node.h"
#include "agent/core/occupancy.h"
#include "agent/core/session.h"
#include "assay/v1/agent_service.grpc.pb.h"
#include "common/executor.h"

namespace assay::agent {

// The parts of the agent needed to run direct jobs (those without a coordinator). They must outlive
// every call.
struct DirectJobHost {
  std::shared_ptr<Node> node;
  JobLauncher* launcher = nullptr;
  Occupancy* occupancy = nullptr;
  Executor* executor = nullptr;
  std::string runner;  // Path of the program.
};

// The implementation of the agent's gRPC service. Thread-safe. The members of `host` must remain
// valid until the server has shut down.
class AgentServiceImpl : public v1::AgentService::CallbackService {
 public:
  AgentServiceImpl(std::weak_ptr<agent::Session> session, DirectJobHost host)
      : session_(std::move(session)), host_(std::move(host)) {}

  // Opens a session. There is at most one session, so a new one replaces the previous one.
  grpc::ServerBidiReactor<v1::CoordinatorMessage, v1::AgentMessage>* Session(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* GetInventory(grpc::CallbackServerContext* context,
                                         const v1::GetInventoryRequest* request,
                                         v1::GetInventoryResponse* response) override;
  grpc::ServerUnaryReactor* ListBenchmarks(grpc::CallbackServerContext* context,
                                           const v1::ListBenchmarksRequest* request,
                                           v1::ListBenchmarksResponse* response) override;
  grpc::ServerWriteReactor<v1::RunJobResponse>* RunJob(grpc::CallbackServerContext* context,
                                                       const v1::RunJobRequest* request) override;

 private:
  const std::weak_ptr<agent::Session> session_;
  const DirectJobHost host_;
};

}  // namespace assay::agent
