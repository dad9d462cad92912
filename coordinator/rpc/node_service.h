// Implements NodeService with the coordinator's core and the dialer.
#pragma once

#include "assay/v1/node_service.grpc.pb.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"
#include "coordinator/rpc/dialer.h"

namespace assay::coordinator::rpc {

class NodeServiceImpl : public v1::NodeService::CallbackService {
 public:
  // All outlive the service.
  NodeServiceImpl(Coordinator& coordinator, Dialer& dialer, const Calls& calls)
      : coordinator_(coordinator), dialer_(dialer), calls_(calls) {}

  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext* context,
                                      const v1::ListNodesRequest* request,
                                      v1::ListNodesResponse* response) override;
  grpc::ServerUnaryReactor* GetNode(grpc::CallbackServerContext* context,
                                    const v1::GetNodeRequest* request,
                                    v1::GetNodeResponse* response) override;
  grpc::ServerUnaryReactor* AddNode(grpc::CallbackServerContext* context,
                                    const v1::AddNodeRequest* request,
                                    v1::AddNodeResponse* response) override;
  grpc::ServerUnaryReactor* RemoveNode(grpc::CallbackServerContext* context,
                                       const v1::RemoveNodeRequest* request,
                                       v1::RemoveNodeResponse* response) override;

 private:
  Status StoreAdded(const std::string& address, const Agent& agent, v1::AddNodeResponse* response);

  Coordinator& coordinator_;
  Dialer& dialer_;
  const Calls& calls_;
};

}  // namespace assay::coordinator::rpc
