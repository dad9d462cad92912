// The services that answer questions about many runs, and store users' remarks on them.
#pragma once

#include <grpcpp/impl/service_type.h>

#include <memory>

#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"

namespace assay::coordinator::rpc {

// Both arguments must outlive the services.
std::unique_ptr<grpc::Service> NewAnalysisService(Coordinator& coordinator, const Calls& calls);
std::unique_ptr<grpc::Service> NewNoteService(Coordinator& coordinator, const Calls& calls);

}  // namespace assay::coordinator::rpc
