// Implements FleetService: sessions of agents that dial the coordinator.
#pragma once

#include "assay/v1/fleet_service.grpc.pb.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"

namespace assay::coordinator::rpc {

class FleetServiceImpl : public v1::FleetService::CallbackService {
 public:
  // Both outlive the service.
  FleetServiceImpl(Coordinator& coordinator, const Calls& calls)
      : coordinator_(coordinator), calls_(calls) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>* Attach(
      grpc::CallbackServerContext* context) override;

 private:
  Coordinator& coordinator_;
  const Calls& calls_;
};

}  // namespace assay::coordinator::rpc
