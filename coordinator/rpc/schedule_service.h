// The service for schedules, which create recurring campaigns.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"

namespace assay::coordinator::rpc {

// Both arguments must outlive the service.
std::unique_ptr<grpc::Service> NewScheduleService(Coordinator& coordinator, const Calls& calls);

}  // namespace assay::coordinator::rpc
