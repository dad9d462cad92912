// Finds out why a server cannot be used by gRPC, which says "Socket closed" for several mistakes.
#pragma once

#include "common/clock.h"
#include "common/host_port.h"
#include "common/status.h"
#include "wire/credentials.h"

namespace assay::rpc {

// Connects to `address` as gRPC does, by a handshake and the first frames of HTTP/2, and says what
// is wrong, with its cure as the hint. Blocks for at most `patience`. Returns
//   OK                      the server speaks HTTP/2 and accepts this side
//   UNAVAILABLE             no connection, or no answer; a later try may succeed
//   INVALID_ARGUMENT        one of `files` cannot be used
// or FAILED_PRECONDITION with the reason
//   WRONG_PEER              the server does not speak TLS or HTTP/2, or its certificate is of
//                           another authority or for another name
//   TLS_REQUIRED            the server speaks TLS, or wants a certificate, and `files` has none
//   BAD_CERTIFICATE         the server refuses this side's certificate, or its own has expired
//   CLOCK_SKEW              a certificate is not valid yet
Status ExplainConnection(const HostPort& address, const TlsFiles& files,
                         Duration patience = std::chrono::seconds(10));

}  // namespace assay::rpc
