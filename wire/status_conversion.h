// Converts assay::Status to and from gRPC's status. The code and the message have direct
// equivalents. The reason, hint and violations are sent in gRPC's binary error details, a
// google.rpc.Status. This message contains them twice: as google.rpc.ErrorInfo and BadRequest,
// which clients in any language can read, and as assay.v1.ErrorDetail.
#pragma once

#include <grpcpp/support/status.h>

#include "common/status.h"

namespace assay::rpc {

// Converts a status to gRPC's form. A gRPC client drops all details if they exceed 8 KiB, so long
// texts are truncated. If there are too many violations, only the first ones are kept, followed by
// kMoreErrors. BadRequest may contain fewer violations than ErrorDetail.
grpc::Status ToGrpc(const Status& status);

// Converts a status from gRPC's form. Ignores details that cannot be parsed, because the peer may
// not be a program of Assay.
Status FromGrpc(const grpc::Status& status);

}  // namespace assay::rpc
