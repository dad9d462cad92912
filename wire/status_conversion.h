// Converts assay::Status to and from gRPC's status, which has the same code and message. The
// reason, hint and violations are sent twice in gRPC's binary error details: as
// google.rpc.ErrorInfo and BadRequest, which clients in any language can read, and as
// assay.v1.ErrorDetail.
#pragma once

#include <grpcpp/support/status.h>

#include "common/status.h"

namespace assay::rpc {

// Converts a status to gRPC's form. Truncates long texts, because gRPC clients drop all details if
// they exceed 8 KiB. If there are too many violations, sends only the first ones, followed by one
// with the text kMoreErrors. BadRequest may contain fewer violations than ErrorDetail.
grpc::Status ToGrpc(const Status& status);

// Converts a status from gRPC's form, ignoring details that cannot be parsed, because the peer may
// not be an Assay program.
Status FromGrpc(const grpc::Status& status);

}  // namespace assay::rpc
