// Enforces the table of wire/roles.h on a gRPC server, before any handler runs.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "common/status.h"
#include "wire/roles.h"

namespace assay::rpc {

// The request header in which a proxy forwards its client's certificate: DER in base64.
inline constexpr char kForwardedPeer[] = "x-assay-peer";

// Returns the processor that lets through the calls that the table allows to peers of `fleet`, and
// answers PERMISSION_DENIED or UNAUTHENTICATED to all others. For credentials that require client
// certificates; others have no processor.
std::shared_ptr<grpc::AuthMetadataProcessor> NewAccessControl(std::string fleet);

// Returns the identity of the caller: the one that a proxy forwards, or the peer's own. kLocalAdmin
// on a server without client certificates.
Identity CallerOf(const grpc::ServerContextBase& context);

// Returns the identity of the server that answers a call. kLocalAdmin in plaintext, kNone for a
// server whose certificate has no identity. Call after the first answer.
Identity ServerOf(const grpc::ClientContext& context);

}  // namespace assay::rpc
