// Answers GetFleet and WatchFleet. WatchFleet sends all matching nodes, and then every 5 s those
// that changed. Without changes, it sends the summary every 15 s, because a browser that was closed
// is noticed at the next message.
//
//   +---------+  5 s   +---------+  something to send  +---------+
//   | waiting | -----> | loading | ------------------> | writing | <--+ more than fits
//   +---------+        +---------+                     +---------+ ---+ a message
//        ^   nothing to send  |                             |
//        +--------------------+----------- written ---------+
#pragma once

#include <grpcpp/support/server_callback.h>

#include <string>

#include "assay/v1/node_service.pb.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"

namespace assay::coordinator::rpc {

// Returns the response to a GetFleet call, or RESOURCE_EXHAUSTED if it would exceed the message
// size that clients accept. Blocks on the database.
Result<v1::GetFleetResponse> FleetOf(FleetView& view, const std::string& filter);

// Creates the gRPC reactor for one WatchFleet call, which streams changes of the fleet. The reactor
// deletes itself when the call is done. `coordinator` and `calls` must outlive the reactor. Clients
// that read nothing for 30 s are disconnected.
grpc::ServerWriteReactor<v1::WatchFleetResponse>* NewFleetWatch(
    Coordinator& coordinator, const Calls& calls, grpc::CallbackServerContext& context,
    std::string filter);

}  // namespace assay::coordinator::rpc
