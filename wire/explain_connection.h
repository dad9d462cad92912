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
// and INVALID_ARGUMENT if any of `files` cannot be used. Returns UNAVAILABLE if the server cannot
// be reached or does not answer, so that a later attempt may succeed. Otherwise, returns
// FAILED_PRECONDITION with a hint on how to fix the problem and one of these reasons:
// - WRONG_PEER: the server does not speak TLS or HTTP/2, or its certificate is from another
//   authority or for another name;
// - TLS_REQUIRED: the server speaks TLS or requires a certificate, and `files` has none;
// - BAD_CERTIFICATE: the server rejects this side's certificate, or its own has expired;
// - CLOCK_SKEW: a certificate is not valid yet.
Status ExplainConnection(const HostPort& address, const TlsFiles& files,
                         Duration patience = std::chrono::seconds(10));

}  // namespace assay::rpc
