// Converts assay::Status to gRPC's status and back. Code and message are gRPC's; everything else is
// an assay.v1.ErrorDetail in the binary details.
#pragma once

#include <grpcpp/support/status.h>

#include "common/status.h"

namespace assay::rpc {

// Cuts long texts. If there are many violations, keeps the first ones and adds kMoreErrors, because
// a client drops all details if they have more than 8 KiB.
grpc::Status ToGrpc(const Status& status);

// Ignores details that cannot be parsed, because a peer may be another program.
Status FromGrpc(const grpc::Status& status);

}  // namespace assay::rpc
