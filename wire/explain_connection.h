// Diagnoses why gRPC cannot connect to a server. gRPC itself reports many different problems as
// just "Socket closed".
#pragma once

#include "common/clock.h"
#include "common/host_port.h"
#include "common/status.h"
#include "wire/credentials.h"

namespace assay::rpc {

// Explains why a connection to a gRPC server fails. Connects as gRPC does, with a TLS handshake and
// the first frames of HTTP/2. May block for up to `patience`. Returns OK if the connection works,
// UNAVAILABLE if the server does not answer, and INVALID_ARGUMENT if any of `files` cannot be used.
// Otherwise, returns FAILED_PRECONDITION with the reason WRONG_PEER, TLS_REQUIRED, BAD_CERTIFICATE
// or CLOCK_SKEW, and a hint on how to fix the problem.
Status ExplainConnection(const HostPort& address, const TlsFiles& files,
                         Duration patience = std::chrono::seconds(10));

}  // namespace assay::rpc
