// assay::Status on the wire: code and message as gRPC's, everything else as an
// assay.v1.ErrorDetail in the binary details.
#pragma once

#include <grpcpp/support/status.h>

#include "common/status.h"

namespace assay::rpc {

// Long texts are cut, and of many violations the first ones kept, with kMoreErrors at their end: a
// client that gets more than 8 KiB drops all of it.
grpc::Status ToGrpc(const Status& status);

// Details that do not parse are ignored: a peer may be of any kind.
Status FromGrpc(const grpc::Status& status);

}  // namespace assay::rpc
