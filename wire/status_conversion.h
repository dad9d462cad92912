// Converts assay::Status to and from gRPC's status, which has the same code and message. The
// reason, hint and violations are sent in gRPC's binary error details. They are sent twice: as
// google.rpc.ErrorInfo and BadRequest, which clients in any language can read, and as
// assay.v1.ErrorDetail.
#pragma once

#include <grpcpp/support/status.h>

#include "common/status.h"

namespace assay::rpc {

// Converts a status to gRPC's form. A gRPC client drops all details if they exceed 8 KiB, so long
// texts are truncated. If there are too many violations, only the first ones are sent, followed by
// one with the text kMoreErrors.
grpc::Status ToGrpc(const Status& status);

// Converts a status from gRPC's form. Ignores details that cannot be parsed, because the peer may
// not be a program of Assay.
Status FromGrpc(const grpc::Status& status);

}  // namespace assay::rpc
