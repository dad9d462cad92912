// Answers WatchCampaign, which sends the campaign immediately and after every change, until the
// campaign ends. A campaign that does not change is sent again every 15 s, because a browser that
// was closed is noticed at the next message.
//
//              Changed             loaded, and it differs
//   +------+ -------> +---------+ -------------------> +---------+  verdict sent,  +----------+
//   | idle |          | loading |                      | writing | --------------> | finished |
//   +------+ <------- +---------+ <------------------- +---------+   broken off    +----------+
//             no difference      changed meanwhile
#pragma once

#include <grpcpp/support/server_callback.h>

#include <string>

#include "assay/v1/campaign_service.pb.h"
#include "coordinator/core/coordinator.h"
#include "coordinator/rpc/calls.h"

namespace assay::coordinator::rpc {

// Time after which a watcher that does not read a message is disconnected.
inline constexpr Duration kReadPatience = std::chrono::seconds(30);

// Time that a watcher has to read the last message before its watch is ended.
inline constexpr Duration kEndPatience = std::chrono::seconds(1);

// Returns the status with which a watch ends after its peer has disconnected.
inline Status Gone() { return Status(Code::kCancelled, Reason::kNone, "the watcher has gone"); }

// Creates the gRPC reactor for one WatchCampaign call, which streams the changes of a campaign. The
// reactor deletes itself when the call is done. `coordinator` and `calls` must outlive the reactor.
// If the campaign changes faster than the client reads, changes are merged into one message.
// Clients that read nothing for 30 s are disconnected.
grpc::ServerWriteReactor<v1::WatchCampaignResponse>* NewWatch(
    Coordinator& coordinator, const Calls& calls, grpc::CallbackServerContext& context,
    const v1::WatchCampaignRequest& request);

}  // namespace assay::coordinator::rpc
