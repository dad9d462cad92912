// Finds out why gRPC cannot use a server. gRPC itself reports different mistakes with the same
// text, "Socket closed".
#pragma once

#include "common/clock.h"
#include "common/host_port.h"
#include "common/status.h"
#include "wire/credentials.h"

namespace assay::rpc {

// Explains why a connection to a gRPC server fails. Connects to `address` as gRPC does, with a TLS
// handshake and the first frames of HTTP/2. The hint of the error says how to fix the problem.
// Blocks for at most `patience`. Returns
//   OK                      the server speaks HTTP/2 and accepts this side
//   UNAVAILABLE             no connection, or no answer; a later try may succeed
//   INVALID_ARGUMENT        one of `files` cannot be used
// or FAILED_PRECONDITION with the reason
//   WRONG_PEER              the server does not speak TLS or HTTP/2, or its certificate is from
//                           another authority or for another name
//   TLS_REQUIRED            the server speaks TLS, or wants a certificate, and `files` has none
//   BAD_CERTIFICATE         the server refuses this side's certificate, or its own has expired
//   CLOCK_SKEW              a certificate is not valid yet
Status ExplainConnection(const HostPort& address, const TlsFiles& files,
                         Duration patience = std::chrono::seconds(10));

}  // namespace assay::rpc
