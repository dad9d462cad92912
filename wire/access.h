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

// Returns an error for a caller that may call nothing. Thread-safe; does not block.
using CallerCheck = std::function<Status(const Identity&)>;

// Returns a processor that checks each call before its handler runs. Callers must belong to
// `fleet`, have a certificate that has not expired and a role that may call the method (see
// wire/roles.h), and pass `check`, if there is one. All others get PERMISSION_DENIED,
// UNAUTHENTICATED or the error of `check`. Use this only with credentials that require client
// certificates.
std::shared_ptr<grpc::AuthMetadataProcessor> NewAccessControl(std::string fleet,
                                                              CallerCheck check = {});

// Returns FAILED_PRECONDITION, BAD_CERTIFICATE if the certificate has expired.
Status CheckExpiry(const Identity& caller, WallTime now);

// Returns the identity of the caller. If the peer is a proxy that forwards a client's certificate,
// this is the identity in the forwarded certificate. On a server that does not require client
// certificates, the caller's role is kLocalAdmin.
Identity CallerOf(const grpc::ServerContextBase& context);

// Returns true if the peer is a proxy, so that its address says nothing about the caller's.
bool IsThroughProxy(const grpc::ServerContextBase& context);

// Returns the identity of the server that answers a call. Use this only after the first response
// has arrived. The role is kLocalAdmin if the connection is not encrypted, and kNone if the
// server's certificate contains no identity.
Identity ServerOf(const grpc::ClientContext& context);

}  // namespace assay::rpc
