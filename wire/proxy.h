// Reads the HTTP proxy to use from environment variables.
#pragma once

#include <optional>
#include <string>

#include "common/host_port.h"
#include "common/status.h"

namespace assay::rpc {

struct Proxy {
  HostPort address;
  std::string credentials;  // "USER:PASSWORD", or empty.
};

// Returns the proxy for TLS connections to `target`, or nullopt if none is needed. The environment
// variable https_proxy or HTTPS_PROXY names the proxy, for example
// "http://user:password@proxy:3128". The variable no_proxy or NO_PROXY lists hosts and domains that
// need none, or "*" for all. Returns INVALID_ARGUMENT if the proxy cannot be parsed. The error does
// not include the variable's value, which may contain a password.
Result<std::optional<Proxy>> ProxyFor(const HostPort& target);

// Makes gRPC use the same proxy as ProxyFor() by setting the environment variable https_proxy. gRPC
// does not read HTTPS_PROXY, and requires "http://" in the value. Call this before starting any
// threads.
void ShareProxyWithGrpc();

}  // namespace assay::rpc
