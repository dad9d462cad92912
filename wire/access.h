// Enforces the table of wire/roles.h on a gRPC server, before any handler runs.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/server_context.h>

#include <functional>
#include <memory>
#include <string>

#include "common/status.h"
#include "wire/roles.h"

namespace assay::rpc {

// The request header in which a proxy forwards its client's certificate: DER in base64.
inline constexpr char kForwardedPeer[] = "x-assay-peer";

// Returns an error if a caller must not call any method. Must be thread-safe and must not block.
using CallerCheck = std::function<Status(const Identity&)>;

// Returns a gRPC processor that checks each call before its handler runs:
// - The caller's certificate must name this `fleet` and must not have expired.
// - The caller's role must be allowed to call the method (see wire/roles.h).
// - If `check` is given, it must return OK for the caller.
// Use this only with credentials that require client certificates.
std::shared_ptr<grpc::AuthMetadataProcessor> NewAccessControl(std::string fleet,
                                                              CallerCheck check = {});

// Returns FAILED_PRECONDITION with reason BAD_CERTIFICATE if the caller's certificate has expired.
Status CheckExpiry(const Identity& caller, WallTime now);

// Returns the identity of the caller. For a call through a proxy, this is the identity in the
// client certificate that the proxy forwards. If the server does not require client certificates,
// the role is kLocalAdmin.
Identity CallerOf(const grpc::ServerContextBase& context);

// Returns true if the peer is a proxy, so that the peer's address is not that of the caller.
bool IsThroughProxy(const grpc::ServerContextBase& context);

// Returns the identity of the server that is handling a call. Call this only after receiving the
// first response. The role is kLocalAdmin if the connection is not encrypted, and kNone if the
// server's certificate contains no identity.
Identity ServerOf(const grpc::ClientContext& context);

}  // namespace assay::rpc
