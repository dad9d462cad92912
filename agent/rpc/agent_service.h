// The agent's gRPC service: sessions of coordinators, its inventory, its benchmarks, and jobs
// without a coordinator.
#pragma once

#include <memory>
#include <utility>

#include "agent/core/session.h"
#include "agent/rpc/run_job_stream.h"
#include "assay/v1/agent_service.grpc.pb.h"

namespace assay::agent {

// Thread-safe. The host's members must outlive the server's shutdown.
class AgentServiceImpl : public v1::AgentService::CallbackService {
 public:
  AgentServiceImpl(std::weak_ptr<agent::Session> session, DirectJobHost host)
      : session_(std::move(session)), host_(std::move(host)) {}

  // There is at most one session: the newest.
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
